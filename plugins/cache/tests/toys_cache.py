"""Plugins that each do one thing that breaks a prefix, or would without the layout."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from wakeful import hookimpl
from wakeful.tools.declare import action
from wakeful.types import (
    Action,
    AgentView,
    Call,
    Fragment,
    Json,
    Offered,
    Row,
    RowKind,
    Run,
    Section,
    Text,
    Tool,
    View,
)


@action(effect="read", output_trust="trusted")
async def look(key: str = "", at: str = "") -> str:
    """Look something up.

    Args:
        key: what for.
        at: where.
    """
    return f"value of {key} {at}"


@action("Unlocked", effect="read", output_trust="trusted")
async def unlocked() -> str:
    """Do what a skill allows."""
    return "done"


class Board:
    """A part of the world that plugins look at; shared by all instances of a test."""

    def __init__(self) -> None:
        self.artifacts: list[str] = []
        self.skill = False
        self.plan = "awaiting"
        self.now = "09:00"


class OfBoard:
    """A plugin that looks at the board."""

    def __init__(self, board: Board) -> None:
        self.board = board


class Manifest(OfBoard):
    """Lists artifacts in its static section."""

    name = "manifest"

    @hookimpl
    def prompt_sections(self) -> list[Section]:
        return [Section("manifest", 50, "Artifacts: " + ", ".join(self.board.artifacts))]


class Clocky(OfBoard):
    """Says the time in its static section."""

    name = "clocky"

    @hookimpl
    def prompt_sections(self) -> list[Section]:
        return [Section("clock", 50, f"It is {self.board.now}.")]


class Planner(OfBoard):
    """Says in its static section whether the plan is approved."""

    name = "planner"

    @hookimpl
    def prompt_sections(self) -> list[Section]:
        return [Section("plan", 50, f"plan: {self.board.plan}")]


class Length(OfBoard):
    """Says in its static section how long the conversation is, as other systems' placeholders do."""

    name = "length"

    @hookimpl
    def prompt_sections(self) -> list[Section]:
        return [Section("length", 50, f"has context: {bool(self.board.artifacts)}")]


class Shuffled(OfBoard):
    """Offers the tools in the order in which they come out of a set."""

    name = "shuffled"

    @hookimpl
    def tool_offer(self) -> Any:
        return self

    def open(self, actions: Mapping[str, Action], agent: AgentView) -> Offered:
        names = sorted(actions, reverse=bool(self.board.artifacts))
        return Offered(
            tuple(Tool(name, actions[name].description, actions[name].schema) for name in names), None
        )

    def actions(self) -> Sequence[Action]:
        return ()

    def resolve(self, call: Call, catalogue: Mapping[str, Action], decision: Json) -> Any:
        return [(call.tool, call.args)]


class Early(OfBoard):
    """Puts what it retrieved in front of the first turn."""

    name = "early"

    @hookimpl
    def prompt_window(self) -> Any:
        return self

    def select(self, run: Run) -> View:
        rows = tuple(row for row in run.rows if row.kind is not RowKind.STATE)
        found = Row(0, RowKind.INBOUND, (Text("user", "Remembered: the office is closed."),))
        return View((found, *rows) if self.board.artifacts else rows)


class Skills(OfBoard):
    """Declares another action once a skill is unlocked."""

    name = "skills"

    @hookimpl
    def tool_actions(self) -> list[Action]:
        return [unlocked] if self.board.skill else []


class Sliding:
    """Shortens the arguments of calls that are two steps old, and says nothing of it."""

    name = "sliding"
    says = False

    @hookimpl
    def prompt_window(self) -> Any:
        return self

    def select(self, run: Run) -> View:
        rows = [row for row in run.rows if row.kind is not RowKind.STATE]
        old = [row for row in rows if row.kind is RowKind.ASSISTANT and row.calls][:-2]
        cut = {row.seq: evolve(row, items=tuple(_cut(item) for item in row.items)) for row in old}
        name = f"cut {len(cut)}" if self.says and cut else "full"
        return View(tuple(cut.get(row.seq, row) for row in rows), name)


class Announced(Sliding):
    """Does the same, and gives the view another name each time."""

    name = "announced"
    says = True


def _cut(item: Any) -> Any:
    return evolve(item, args="{}") if isinstance(item, Call) else item


class Late:
    """A provider of context that finishes after others, at another place each turn."""

    def __init__(self, name: str, pauses: list[int]) -> None:
        self.name, self.pauses = name, list(pauses)

    @hookimpl
    async def prompt_context(self, run: Run) -> list[Fragment]:
        for _ in range(self.pauses.pop(0)):
            await asyncio.sleep(0)
        return [Fragment(self.name, 5, f"{self.name} remembers turn {run.turn}")]


class Volatile:
    """State with values that other systems put as placeholders into static text."""

    name = "volatile"

    @hookimpl
    def prompt_state(self, run: Run) -> list[Fragment]:
        return [
            Fragment("conversation length", 1, str(len(run.rows))),
            Fragment("has context", 2, str(bool(run.context))),
            Fragment("plan", 3, f"step {run.step}"),
        ]
