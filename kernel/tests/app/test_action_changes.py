"""Changes of one run's actions: how far they reach, and how an added action is called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select

import wakeful
from wakeful import Agent, action, hookimpl
from wakeful.store.tables import action_call, run
from wakeful.testing import Say, ScriptedModel, say
from wakeful.types import ActionChange, ActionEnded, ConfigError, Offered, Run, Services, Tool


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


@action(effect="read", output_trust="trusted")
async def web() -> str:
    """Read a page."""
    return "page"


@action(effect="read", output_trust="trusted")
async def hush() -> str:
    """Say nothing."""
    return ""


def ask(name: str = "kid") -> tuple[str, dict[str, Any]]:
    return f"delegate_to_{name}", {"message": "Look"}


def agent(name: str, *lines: Any, **of: Any) -> Agent:
    return Agent(model=ScriptedModel(list(lines)), name=name, actions=[ping], **of)


@pytest.mark.parametrize(
    ("scope", "agents", "codes"),
    [
        ("root", (), ("ACTION_REMOVED", "SUCCESS", "SUCCESS")),
        ("global", (), ("ACTION_REMOVED",) * 3),
        ("all_subagents", (), ("SUCCESS", "ACTION_REMOVED", "ACTION_REMOVED")),
        ("specific", ("deeper",), ("SUCCESS", "SUCCESS", "ACTION_REMOVED")),
    ],
)
async def test_scopes_of_changes(scope: str, agents: tuple[str, ...], codes: tuple[str, ...]) -> None:
    deeper = agent("deeper", say(calls=["ping"]), "Deep.")
    child = agent("kid", say(calls=["ping", ask("deeper")]), "Kid.", sub_agents=[deeper])
    subject = agent("top", say(calls=["ping", ask()]), "Done.", sub_agents=[child])
    async with wakeful.open(subject) as app:
        change = ActionChange("remove", "ping", scope, agents)
        await app.send("top", "Go", action_changes=[change])
        query = select(run.c.agent, action_call.c.code).join(run, run.c.id == action_call.c.run_id)
        query = query.where(action_call.c.action == "ping")
        found = dict(await app.store.read(lambda conn: [tuple(row) for row in conn.execute(query)]))
    assert (found["top"], found["kid"], found["deeper"]) == codes


async def test_a_misspelt_name_is_not_told_what_was_taken_away() -> None:
    texts = []
    async with wakeful.open(
        agent("top", say(calls=["pingg"]), "Done.", say(calls=["pingg"]), "Done.")
    ) as app:
        for changes in ([], [ActionChange("remove", "ping")]):
            stream = app.stream("top", "Go", action_changes=changes)
            texts += [event.text async for event in stream if isinstance(event, ActionEnded)]
    assert "**Did you mean:** `ping`" in texts[0]
    assert "`ping`" not in texts[1]


async def test_adding_an_action_needs_an_offer_that_can_reach_it() -> None:
    async with wakeful.open(agent("top", "x")) as app:
        with pytest.raises(ConfigError, match="enable a plugin that fills tool_offer"):
            await app.send("top", "Go", action_changes=[ActionChange("add", "crm:export")])
        with pytest.raises(ConfigError, match="unknown scope 'golbal'; did you mean 'global'"):
            await app.send("top", "Go", action_changes=[ActionChange("remove", "x", "golbal")])


class Hides:
    """An offer whose one tool runs whatever is named, and whose other one lists what there is."""

    name = "hides"

    def __init__(self, settings: None, services: Services) -> None:
        self.services = services
        self.seen: list[list[str]] = []

    @hookimpl
    def tool_offer(self, agent: Any) -> Any:
        return self

    @hookimpl
    def prompt_state(self, run: Run) -> None:
        self.seen.append(list(self.services.catalogue(run)))

    def open(self, actions: Any, agent: Any) -> Offered:
        return Offered((Tool("execute", "Run one.", {"type": "object"}),))

    def actions(self) -> tuple[()]:
        return ()

    def resolve(self, call: Any, catalogue: Any, decision: Any) -> Any:
        return [(json.loads(call.args)["action"], {})]


async def test_an_added_action_is_reached_through_an_offer() -> None:
    calls = [("execute", {"action": name}) for name in ("ping", "web")]
    lines: list[Say | str] = [say(calls=calls), "Done.", say(calls=calls[:1]), "Done."]
    subject = Agent(model=ScriptedModel(lines), name="top", plugins=[Hides], actions=[hush, web])
    async with wakeful.open(subject) as app:
        changes = [ActionChange("add", "tests.toys:ping"), ActionChange("remove", "web")]
        await app.send("top", "Go", conversation="c", action_changes=changes)
        await app.send("top", "Go", conversation="c")
        query = select(action_call.c.action, action_call.c.code).order_by(action_call.c.key)
        found = await app.store.read(lambda conn: [tuple(row) for row in conn.execute(query)])
        hides: Any = app.agents["top"].instances["hides"]
        with pytest.raises(ConfigError, match="no_such"):
            await app.send("top", "Go", action_changes=[ActionChange("add", "tests.no_such:x")])
    assert found == [
        ("ping", "SUCCESS"),
        ("web", "ACTION_REMOVED"),
        ("ping", "UNKNOWN_TOOL"),
    ]
    assert hides.seen[0] == ["hush", "ping"]
    assert hides.seen[-1] == ["hush", "web"]
