"""Strategies that shorten what is sent: when they are asked, what counts of what they say, what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from wakeful import Agent, action, hookimpl
from wakeful import open as open_app
from wakeful.testing import Database, FakeClock, FakeIds, ScriptedModel, TurnResult, say
from wakeful.types import (
    Change,
    ChangeKind,
    MessageChanged,
    ModelError,
    Notice,
    Profile,
    Result,
    RowKind,
    Run,
    RunStatus,
    Trust,
    View,
)

Turn = Callable[..., TurnResult]
PROFILE = Profile("scripted", window=2_000, output=100)


@define(eq=False)
class Shortening:
    """A plugin with one strategy: every long result becomes ``text``."""

    name: str = "shortening"
    share: float = 1.0
    until: float = 0.5
    order: int = 0
    between_runs: bool = False
    text: str = "short"
    quoted: str = ""
    error: Exception | None = None
    asked: list[tuple[int, str]] = field(factory=list)

    @hookimpl
    def prompt_relief(self) -> Sequence[Any]:
        return [self]

    async def relieve(self, run: Run, view: View, excess: int) -> Sequence[Change]:
        self.asked.append((excess, view.name))
        if self.error is not None:
            raise self.error
        return [
            Change(row.seq, 0, ChangeKind.REMOVED, self.text, self.quoted, "no room")
            for row in view.rows
            if row.kind is RowKind.RESULT and len(row.text) > 200
        ]


@action(effect="read", output_trust="trusted")
async def tell(size: int) -> str:
    """Tell something."""
    return "x" * size


@action(effect="read", output_trust="untrusted")
async def hear(size: int) -> str:
    """Hear something."""
    return "y" * size


def told(model: ScriptedModel, number: int) -> list[str]:
    return [item.text for item in model.requests[number].items if isinstance(item, Result)]


def test_a_strategy_is_asked_from_its_share_of_the_budget_and_its_change_is_sent(run_turn: Turn) -> None:
    plugin = Shortening()
    calls = [say(calls=[("tell", {"size": size})]) for size in (400, 9_000)]
    model = ScriptedModel([*calls, "Done."], PROFILE)
    result = run_turn(Agent(model=model, actions=[tell], plugins=[plugin]), "Go")
    assert len(plugin.asked) == 1, "the first result left room"
    excess, view = plugin.asked[0]
    assert excess > 1_000
    assert view == "full"
    assert told(model, 1)[0].endswith("x" * 400 + "\n```")
    assert told(model, 2) == ["short", "short"]
    changes = [event for event in result.events if isinstance(event, MessageChanged)]
    assert [(each.kind, each.sequence, each.index, each.plugin) for each in changes] == [
        ("removed", 3, 0, "shortening"),
        ("removed", 5, 0, "shortening"),
    ]
    assert changes[1].tokens_saved > 2_000
    assert [row.text.count("x") > 300 for row in result.rows if row.kind is RowKind.RESULT] == [True, True]


def test_it_is_asked_when_the_provider_finds_the_request_too_long(run_turn: Turn) -> None:
    plugin = Shortening()
    wide = Profile("scripted", window=100_000, output=100)
    too_long = ModelError("context_too_long", "too long")
    model = ScriptedModel([say(calls=[("tell", {"size": 900})]), too_long, "Done."], wide)
    result = run_turn(Agent(model=model, actions=[tell], plugins=[plugin]), "Go")
    assert result.answer.text == "Done."
    assert told(model, 2) == ["short"]


@pytest.mark.parametrize("between", [True, False])
def test_between_runs_it_is_asked_whatever_the_use(run_turn: Turn, between: bool) -> None:
    plugin = Shortening(share=0.65, between_runs=between)
    replies: list[Any] = [say(calls=[("tell", {"size": 900})]), "One.", "Two."]
    wide = Profile("scripted", window=100_000, output=100)
    model = ScriptedModel(replies, wide)
    run_turn(Agent(model=model, actions=[tell], plugins=[plugin]), "Go", "On")
    assert (told(model, 2) == ["short"]) is between


def test_one_that_fails_is_reported_and_the_request_goes_out(run_turn: Turn) -> None:
    plugin = Shortening(error=ValueError("no idea"))
    model = ScriptedModel([say(calls=[("tell", {"size": 9_000})]), "Done."], PROFILE)
    result = run_turn(Agent(model=model, actions=[tell], plugins=[plugin]), "Go")
    assert result.answer.status is RunStatus.COMPLETED
    notices = [event.message for event in result.events if isinstance(event, Notice)]
    assert any("prompt_relief" in message and "no idea" in message for message in notices)


def test_what_is_no_shorter_or_not_there_changes_nothing(run_turn: Turn) -> None:
    class Wrong(Shortening):
        async def relieve(self, run: Run, view: View, excess: int) -> Sequence[Change]:
            longer = [Change(row.seq, 0, ChangeKind.REMOVED, row.text + "!") for row in view.rows]
            return [*longer, Change(999, 0, ChangeKind.REMOVED, ""), Change(1, 9, ChangeKind.REMOVED, "")]

    model = ScriptedModel([say(calls=[("tell", {"size": 9_000})]), "Done."], PROFILE)
    result = run_turn(Agent(model=model, actions=[tell], plugins=[Wrong()]), "Go")
    assert not [event for event in result.events if isinstance(event, MessageChanged)]
    assert result.answer.text == "Done."


def test_kept_text_of_an_untrusted_row_is_put_in_the_envelope_anew(run_turn: Turn) -> None:
    class Marking:
        name = "marking"

        @hookimpl
        def result_envelope(self) -> Any:
            return self

        def wrap(self, text: str, trust: Trust, source: str, nonce: str) -> str:
            return f"<{nonce}>{text}</{nonce}>"

    plugin = Shortening(text="cut:", quoted="yyy")
    model = ScriptedModel([say(calls=[("hear", {"size": 9_000})]), "Done."], PROFILE)
    run_turn(Agent(model=model, actions=[hear], plugins=[plugin, Marking()]), "Go")
    (text,) = told(model, 1)
    head, mark = text.split("\n<")
    assert head == "cut:"
    nonce = mark.split(">")[0]
    assert text == f"cut:\n<{nonce}>yyy</{nonce}>"


def test_another_process_sends_the_same_and_without_the_plugin_everything_is_whole(
    store: Database, tmp_path: Path
) -> None:
    async def turn(replies: list[Any], plugins: list[Any], number: int) -> ScriptedModel:
        model = ScriptedModel(replies, PROFILE)
        agent = Agent(model=model, actions=[tell], plugins=plugins, store=store.url, folder=tmp_path)
        ids = FakeIds()
        ids.skip("run", number)
        async with open_app(agent, clock=FakeClock(), ids=ids) as app:
            await app.send("agent", "Go", conversation="c")
        return model

    async def play() -> tuple[str, str, str]:
        first = await turn([say(calls=[("tell", {"size": 9_000})]), "Done."], [Shortening()], 0)
        second = await turn(["Again."], [Shortening()], 1)
        third = await turn(["Whole."], [], 2)
        return tuple(model.requests[-1].canonical() for model in (first, second, third))  # type: ignore[return-value]  # three of them

    first, second, third = asyncio.run(play())
    assert '"short"' in first
    assert '"short"' in second
    assert "x" * 9_000 in third
