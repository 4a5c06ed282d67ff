"""Plugins that each do one thing that breaks a prefix, or would without the layout."""

from __future__ import annotations

import asyncio
from typing import Any

from attrs import evolve

from wakeful import hookimpl
from wakeful.tools.declare import action
from wakeful.types import Action, Call, Fragment, RowKind, Run, Section, View


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


class Manifest:
    """Lists artifacts in its static section."""

    name = "manifest"

    def __init__(self, board: Board) -> None:
        self.board = board

    @hookimpl
    def prompt_sections(self) -> list[Section]:
        return [Section("manifest", 50, "Artifacts: " + ", ".join(self.board.artifacts))]


class Clocky(Manifest):
    """Says the time in its static section."""

    name = "clocky"

    @hookimpl
    def prompt_sections(self) -> list[Section]:
        return [Section("clock", 50, f"It is {self.board.now}.")]


class Planner(Manifest):
    """Says in its static section whether the plan is approved."""

    name = "planner"

    @hookimpl
    def prompt_sections(self) -> list[Section]:
        return [Section("plan", 50, f"plan: {self.board.plan}")]


class Skills(Manifest):
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
