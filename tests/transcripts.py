"""Plays random conversations from plans, the same way in every process.

A plan is JSON: which plugins are on, and for each turn what the model replies.
``python -m tests.transcripts`` reads one plan a line and prints the digest of all that was sent and stored.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attrs import define, field, frozen

import wakeful
from tests.toys import ACTIONS, TOYS
from wakeful import Agent
from wakeful.loop.transcript import load_rows
from wakeful.plugins.loader import installed
from wakeful.store.verify import verify
from wakeful.testing import FakeClock, FakeIds, say
from wakeful.types import (
    Answer,
    Call,
    Emit,
    ModelError,
    Profile,
    Reply,
    Request,
    Result,
    Row,
    RowKind,
    RunStatus,
    canonical,
    digest,
    dump_item,
)

#: Settings of installed plugins that cannot do without; a plugin that is not installed here is not enabled.
SETTINGS: dict[str, dict[str, Any]] = {"records": {"url": "sqlite:///company.db"}}


def real() -> list[str]:
    """Return the installed plugins that take part, sorted."""
    return sorted(set(installed()) & {*SETTINGS, "replay"})


def plugins() -> list[str]:
    """Return the names a plan may enable: toys and installed plugins."""
    return [*sorted(TOYS), *real()]


@define(eq=False)
class Ids(FakeIds):
    """Ids that depend on the plan's number only, whatever was played before."""

    plan: int = 0

    def begin(self, plan: int) -> None:
        """Start the ids of a plan."""
        self.plan = plan
        self._made.clear()

    def new(self, prefix: str) -> str:
        """Return the next id of the plan."""
        return f"{super().new(prefix)}-of-{self.plan}"

    def secret(self) -> str:
        """Return a secret of the plan."""
        return digest(f"{self.plan}/{super().secret()}")[:32]


@define(eq=False)
class Player:
    """A model that plays the replies of the current plan."""

    profile: Profile = Profile("scripted")
    replies: list[Mapping[str, Any]] = field(factory=list)
    requests: list[str] = field(factory=list)
    app: Any = None
    run: str = ""

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Play the next reply: ``cancel`` ends the run while it thinks, ``error`` fails."""
        self.requests.append(request.canonical())
        if not self.replies:
            raise ModelError("unknown", "the script is over")
        line = self.replies.pop(0)
        if line.get("cancel"):
            await self.app.cancel(self.run)
            await asyncio.sleep(0)
        if "error" in line:
            raise ModelError(line["error"], "scripted")
        calls = [(tool, args) for tool, args in line.get("calls", ())]
        spoken = say(
            line.get("text", ""), calls=calls, thinking=line.get("thinking", ""), stop=line.get("stop")
        )
        return spoken.reply(len(self.requests))


@frozen
class Played:
    """What a plan gave: its digest, the rows, and what is wrong with them."""

    digest: str
    rows: tuple[Row, ...]
    answers: tuple[Answer, ...]
    problems: tuple[str, ...]


@define(eq=False)
class Theatre:
    """Plays plans; applications stay open between them, one for each set of plugins."""

    folder: Path
    stack: AsyncExitStack = field(factory=AsyncExitStack)
    apps: dict[tuple[str, ...], tuple[Any, Player]] = field(factory=dict)
    ids: Ids = field(factory=Ids)
    played: int = 0

    async def open(self, names: Sequence[str]) -> tuple[Any, Player]:
        """Return the application of a set of plugins, in the order they are named."""
        key = tuple(names)
        if key not in self.apps:
            model = Player()
            settings = {name: SETTINGS[name] for name in names if name in SETTINGS}
            listed = [TOYS.get(name, name) for name in names]
            agent = Agent(
                model=model,
                actions=ACTIONS,
                plugins=listed,
                settings=settings,
                folder=self.folder,
                instructions="Help.",
            )
            app = await self.stack.enter_async_context(wakeful.open(agent, clock=FakeClock(), ids=self.ids))
            if app.problems("agent"):
                raise AssertionError(app.problems("agent"))
            model.app = app
            self.apps[key] = (app, model)
        return self.apps[key]

    async def play(self, plan: Mapping[str, Any]) -> Played:
        """Play a plan in a conversation of its own."""
        app, model = await self.open(plan["plugins"])
        self.played += 1
        self.ids.begin(self.played)
        conversation = f"conv-{self.played}"
        model.requests = []
        answers: list[Answer] = []
        problems: list[str] = []
        rows: tuple[Row, ...] = ()
        for turn in plan["turns"]:
            model.replies = list(turn["replies"])
            model.run = f"run-{len(answers) + 1}-of-{self.played}"
            said = await app.send("agent", turn["text"], conversation=conversation, user="ana")
            answers += [said, *await self._decide(app, said, turn.get("decide"), model)]
            before, rows = rows, await app.store.read(lambda conn: load_rows(conn, conversation))
            if rows[: len(before)] != before:
                problems.append("a row was changed")
            if said.status is RunStatus.COMPLETED and asking(rows[len(before) :]):
                problems.append("a run ended well without the person it asked")
        problems += wrong(rows)
        told = [[a.status, a.text, a.error, a.usage.total, list(a.pending)] for a in answers]
        kept = [
            [r.seq, r.kind, [dump_item(i) for i in r.items], r.trust, r.source, dict(r.meta)] for r in rows
        ]
        return Played(digest(canonical([model.requests, told, kept])), rows, tuple(answers), tuple(problems))

    async def _decide(self, app: Any, answer: Answer, decision: Any, model: Player) -> list[Answer]:
        """Decide about what waits and resume the run; None lets it wait."""
        if not answer.status.parked or decision is None:
            return []
        for request in answer.pending:
            if decision == "reject":
                await app.approvals.reject(request, by="ana")
            else:
                await app.approvals.approve(
                    request, by="ana", args=decision if decision != "approve" else None
                )
        model.replies = [{"text": "It is settled."}]
        return [await app.resume(answer.run_id)]

    async def problems(self) -> list[str]:
        """Return what the store's own check finds in all databases."""
        return [
            str(problem)
            for app, _ in self.apps.values()
            for problem in await app.store.read(lambda conn: list(verify(conn)))
        ]


def wrong(rows: Sequence[Row]) -> list[str]:
    """Return what is wrong with a transcript: gaps, and calls apart from their results."""
    found = []
    if [row.seq for row in rows] != list(range(1, len(rows) + 1)):
        found.append(f"sequences {[row.seq for row in rows]}")
    waiting: list[str] = []
    for row in rows:
        results = [item.call_id for item in row.items if isinstance(item, Result)]
        if row.kind is RowKind.RESULT:
            if results != waiting[:1]:
                found.append(f"row {row.seq} answers {results}, but {waiting} wait")
            waiting = waiting[1:]
        elif waiting:
            found.append(f"row {row.seq} ({row.kind}) stands between calls and results")
            waiting = []
        waiting += [item.id for item in row.items if isinstance(item, Call)]
    return [*found, *(f"{call} has no result" for call in waiting)]


def asking(rows: Sequence[Row]) -> bool:
    """Say whether a call of these rows waits for a person."""
    results = [item.text for row in rows for item in row.items if isinstance(item, Result)]
    return any("POLICY_APPROVAL_REQUIRED" in text for text in results)


def company(folder: Path) -> None:
    """Make the database that an installed plugin reads."""
    connection = sqlite3.connect(folder / "company.db")
    connection.executescript(
        "create table customer (id integer primary key, name text); insert into customer values (1, 'Ada');"
    )
    connection.close()


async def main(lines: Sequence[str]) -> None:
    """Play one plan a line and print their digests."""
    with TemporaryDirectory() as folder:
        company(Path(folder))
        theatre = Theatre(Path(folder))
        async with theatre.stack:
            for line in lines:
                print((await theatre.play(json.loads(line))).digest)


if __name__ == "__main__":
    asyncio.run(main(sys.stdin.read().splitlines()))
