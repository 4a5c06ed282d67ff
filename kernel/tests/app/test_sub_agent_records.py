"""What can be seen of sub-agents: the events of a stream, and the tree in the records."""

from __future__ import annotations

import re
from typing import Any

import pytest

import wakeful
from wakeful import Agent, action
from wakeful.cli.explain import explain
from wakeful.store.records import get_run
from wakeful.testing import ScriptedModel, say
from wakeful.types import ActionEnded, ActionStarted, RunEnded


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


def agent(name: str, *lines: Any, **of: Any) -> Agent:
    return Agent(model=ScriptedModel(list(lines)), name=name, actions=[ping], **of)


def ask(name: str) -> tuple[str, dict[str, str]]:
    return f"delegate_to_{name}", {"message": "Look"}


async def test_the_events_of_a_run_are_its_own() -> None:
    below = agent("kid", say(calls=["ping"]), "Deep.")
    subject = agent("top", say(calls=[ask("kid")]), "Done.", sub_agents=[below])
    async with wakeful.open(subject) as app:
        events = [event async for event in app.stream("top", "Go")]
    assert isinstance(events[-1], RunEnded)
    assert {event.run_id for event in events if hasattr(event, "run_id")} == {events[-1].answer.run_id}
    called = [event.invocation.action for event in events if isinstance(event, ActionStarted | ActionEnded)]
    assert called == ["delegate_to_kid"] * 2


async def test_the_records_show_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    usage = {"uncached": 10, "output": 1}

    def does(*calls: Any, text: str) -> list[Any]:
        return [*([say(calls=list(calls), usage=usage)] if calls else []), say(text, usage=usage)]

    deepest = agent("deepest", *does(text="Deepest."))
    deep = agent("deep", *does(ask("deepest"), ask("deepest"), text="Deep."), sub_agents=[deepest])
    subject = agent("top", *does(ask("deep"), text="Done."), sub_agents=[deep])
    async with wakeful.open(subject) as app:
        answer = await app.send("top", "Go")
        detail = await app.store.read(lambda conn: get_run(conn, answer.run_id))
    assert detail is not None
    explain(detail)
    told = [re.sub(r"run run-\w+", "run", line) for line in capsys.readouterr().out.splitlines()]
    assert [line for line in told if "below" in line] == [
        "  below: run, agent deep, completed, 2 steps",
        "    below: run of step 1, agent deepest, completed, 1 steps",
        "    below: run of step 1, agent deepest, completed, 1 steps",
        "usage with all below: in 60 (read 0, written 0), out 6 · 6 steps · 4 runs",
    ]
