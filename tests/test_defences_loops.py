"""What runs without the model is judged as what it asks for: loops, flows and references."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

import wakeful
from wakeful import Agent, action
from wakeful.testing import ScriptedModel, say
from wakeful.types import ActionEnded, Param

MAILS = ["mallory@evil.example", "bob@example.com"]
WORDS = "Read my inbox, write to bob@example.com"
sent: list[str] = []


@action(effect="read")
async def get_inbox() -> list[str]:
    """Read what strangers write."""
    return MAILS


@action(effect="external", output_trust="trusted")
async def send(to: Annotated[str, Param(role="destination")]) -> str:
    """Send something."""
    sent.append(to)
    return "sent"


@action(effect="fetch", output_trust="trusted")
async def fetch(url: Annotated[str, Param(role="destination")]) -> str:
    """Fetch a page."""
    sent.append(url)
    return "page"


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    sent.clear()


async def run(folder: Path, *lines: Any, plugins: tuple[str, ...] = (), **settings: Any) -> list[Any]:
    """Run a turn and return what came of its calls."""
    agent = Agent(
        model=ScriptedModel([*lines, "Done."]),
        actions=[get_inbox, send, fetch],
        plugins=["taint", "policy", *plugins],
        store=f"sqlite:///{folder / 'w.db'}",
        settings=settings,
    )
    async with wakeful.open(agent) as app:
        events = [event async for event in app.stream("agent", WORDS, conversation="c")]
    return [event.result for event in events if isinstance(event, ActionEnded)]


async def test_a_loop_sends_to_nobody_whom_the_user_did_not_name(tmp_path: Path) -> None:
    loop = ("for_each", {"action": "send", "args": {"to": "item"}, "items": MAILS})
    await run(tmp_path, say(calls=["get_inbox"]), say(calls=[loop]), plugins=("loops",))
    assert "mallory@evil.example" not in sent


async def test_a_loop_does_not_repeat_what_was_asked_for_once(tmp_path: Path) -> None:
    loop = ("for_each", {"action": "send", "args": {"to": "item"}, "items": ["bob@example.com"] * 5})
    await run(tmp_path, say(calls=["get_inbox"]), say(calls=[loop]), say(calls=[loop]), plugins=("loops",))
    assert sent == ["bob@example.com"]


async def test_another_process_knows_what_loops_have_done(tmp_path: Path) -> None:
    loop = ("for_each", {"action": "send", "args": {"to": "item"}, "items": ["bob@example.com"]})
    await run(tmp_path, say(calls=["get_inbox"]), say(calls=[loop]), plugins=("loops",))
    direct = ("send", {"to": "bob@example.com"})
    await run(tmp_path, say(calls=[loop]), say(calls=[direct]), plugins=("loops",))
    assert sent == ["bob@example.com"]


async def test_a_loop_follows_no_more_links_than_a_run_may(tmp_path: Path) -> None:
    loop = (
        "for_each",
        {
            "action": "fetch",
            "args": {"url": "item"},
            "items": [f"https://evil.example/{n}" for n in range(9)],
        },
    )
    await run(
        tmp_path,
        say(calls=["get_inbox"]),
        say(calls=[loop]),
        plugins=("loops",),
        taint={"profile": "permissive"},
    )
    assert sent == []  # the model wrote them before anything showed them


async def test_an_address_that_is_referred_to_is_still_a_strangers(tmp_path: Path) -> None:
    refer = ("send", {"to": {"$from": "conversation[3]"}})
    (_, held) = await run(tmp_path, say(calls=["get_inbox"]), say(calls=[refer]))
    assert held.code == "POLICY_DENIED"
    assert sent == []
