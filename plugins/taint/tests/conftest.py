"""Calls and runs for the rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define, field

from wakeful.testing import FakeClock
from wakeful.types import (
    Action,
    ActionResult,
    AgentView,
    Call,
    Declared,
    Effect,
    Epoch,
    Invocation,
    Json,
    Limits,
    Param,
    Profile,
    Provenance,
    Result,
    Row,
    RowKind,
    Run,
    RunStatus,
    Text,
    Trust,
)
from wakeful_taint import Decision, Taint, TaintSettings


async def nothing(args: Mapping[str, Json], context: Any) -> ActionResult:
    """Stand for what an action does."""
    return ActionResult()


def act(name: str, effect: Effect, roles: str = "", **values: Any) -> Action:
    """Return an action; ``roles`` as ``to:destination body:content``."""
    params = tuple(Param(name=part.split(":")[0], role=part.split(":")[1]) for part in roles.split())
    return Action(name, "", {"type": "object"}, nothing, effect=effect, params=params, **values)


#: Actions by tool name.
ACTIONS = {
    each.tool_name: each
    for each in (
        act("search", Effect.READ),
        act(
            "mail", Effect.EXTERNAL, "to:destination cc:destination file:object subject:content body:content"
        ),
        act("pay", Effect.EXTERNAL, "to:destination amount:value note:content"),
        act("fetch page", Effect.FETCH, "url:destination"),
        act("chat", Effect.WRITE, "channel:destination body:content"),
        act("note", Effect.WRITE, "file:object body:content", can_stage=True),
        act("event", Effect.WRITE, "people:destination title:content", external_if_present=("people",)),
        act("delete file", Effect.WRITE, "file:object"),
        act("join", Effect.WRITE, "user:destination channel:destination"),
        act("unlabelled", Effect.EXTERNAL),
        act("look", Effect.READ, "url:destination", tier=4, owner="browser"),
        act("click", Effect.EXTERNAL, "mark:object", tier=4, owner="browser"),
    )
}


@define
class World:
    """A conversation that can be asked about calls."""

    settings: TaintSettings = TaintSettings()
    words: str = ""
    rows: list[Row] = field(factory=list)
    turn: int = 1
    step: int = 1
    conversation: str = "c-1"
    plugin: Taint = field(init=False)
    actions: Mapping[str, Action] = field(factory=lambda: ACTIONS)

    @plugin.default
    def _make(self) -> Taint:
        services: Any = SimpleNamespace(catalogue=lambda _: ACTIONS)
        return Taint(self.settings, services)

    def __attrs_post_init__(self) -> None:
        if self.words:
            self.say(self.words)

    def add(
        self, kind: RowKind, *items: Any, trust: Trust = Trust.TRUSTED, source: str = "", **meta: Json
    ) -> None:
        seq = len(self.rows) + 1
        self.rows.append(Row(seq, kind, items, f"r{self.turn}", self.turn, self.step, trust, source, meta))

    def say(self, text: str) -> None:
        """Let the user begin a turn."""
        if self.rows:
            self.turn, self.step = self.turn + 1, 1
        self.add(RowKind.USER, Text("user", text))

    def did(
        self, tool: str, args: Json, output: str, trust: Trust = Trust.UNTRUSTED, source: str = ""
    ) -> None:
        """Let a call have been made."""
        self.add(RowKind.ASSISTANT, Call(f"k{len(self.rows)}", tool, json.dumps(args)))
        shown = Result(f"k{len(self.rows) - 1}", output)
        self.add(RowKind.RESULT, shown, trust=trust, source=source or f"action:{tool}", actions=[tool])
        self.step += 1

    def read(self, text: str, source: str = "action:Get Inbox", tool: str = "search") -> None:
        """Let the run read outside text."""
        self.did(tool, {"q": "all"}, text, source=source)

    @property
    def run(self) -> Run:
        """The run as it stands."""
        return Run(
            id=f"r{self.turn}",
            agent=AgentView("desk", "scripted:x", Profile("scripted", "x", 100_000), Limits()),
            conversation=self.conversation,
            user="ana",
            turn=self.turn,
            step=self.step,
            now=FakeClock().now(),
            secret="s",
            status=RunStatus.RUNNING,
            epoch=Epoch(1, "", Declared("scripted:x", (), ())),
            rows=tuple(self.rows),
        )

    def propose(self, tool: str, provenance: tuple[Provenance, ...] = (), **args: Json) -> Invocation:
        """Return a call as the kernel proposes it."""
        call = Call("k", tool, json.dumps(args))
        return Invocation(f"r/{self.step}/0", call, 0, 0, tool, args, provenance=provenance)

    def ask(self, tool: str, *earlier: Invocation, **args: Json) -> Decision:
        """Return what the rules say about a call."""
        return self.plugin.decision(self.run, self.propose(tool, **args), ACTIONS[tool], earlier)


@pytest.fixture
def world() -> Callable[..., World]:
    """Make a conversation: what the user says, then settings."""

    def make(words: str = "", **settings: Any) -> World:
        return World(TaintSettings(**settings), words)

    return make
