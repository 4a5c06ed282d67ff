"""Checking what the tables promise: sequences without gaps, a result for each call, nothing left over."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from attrs import define, field
from sqlalchemy import Connection, exists, select

from wakeful.store import tables as t
from wakeful.types.enums import RowKind, RunStatus
from wakeful.types.errors import Problem

#: Rows fetched at a time; bounds the memory of a check, whatever the size of the database.
CHUNK = 500

_UNSETTLED = (RunStatus.RUNNING, RunStatus.AWAITING_APPROVAL, RunStatus.AWAITING_FEEDBACK)


def verify(conn: Connection) -> Iterator[Problem]:
    """Give a problem for each gap in a sequence and each call without exactly one result, in order.

    Checks one conversation after the other in one pass over its rows, then the journal against the rows, then
    that every row belongs to something. Calls of a run that still runs or waits for a person may lack their
    results.

    Args:
        conn: a connection for reading.
    """
    after = ""
    c = t.conversation.c
    while True:
        query = select(c.id, c.next_seq).where(c.id > after).order_by(c.id).limit(CHUNK)
        page = conn.execute(query).all()
        for conversation, next_seq in page:
            yield from _conversation(conn, conversation, next_seq)
        if len(page) < CHUNK:
            break
        after = page[-1].id
    yield from _journal(conn)
    yield from _orphans(conn)


def _journal(conn: Connection) -> Iterator[Problem]:
    """Give a problem for each call of the journal that no row of its conversation answers."""
    a, r, m = t.action_call.c, t.run.c, t.message.c
    answered = exists().where(m.conversation_id == r.conversation_id, m.seq == a.result_seq)
    query = (
        select(a.key, a.action, a.result_seq, r.conversation_id)
        .join(t.run, r.id == a.run_id)
        .where(r.status.not_in(_UNSETTLED), ~answered)
        .order_by(a.key)
    )
    for row in conn.execution_options(yield_per=CHUNK).execute(query):
        told = "no row" if row.result_seq is None else f"row {row.result_seq}, which is missing,"
        yield Problem(f"conversation {row.conversation_id}", f"{told} answers {row.action} ({row.key})")


def _orphans(conn: Connection) -> Iterator[Problem]:
    """Give a problem for each table with rows that refer to others that are gone; PostgreSQL has none."""
    if conn.dialect.name == "sqlite":
        found = Counter((row[0], row[2]) for row in conn.exec_driver_sql("PRAGMA foreign_key_check"))
        for (table, parent), count in sorted(found.items()):
            yield Problem(f"table {table}", f"{count} rows refer to rows of {parent} that are gone")


def _conversation(conn: Connection, conversation: str, next_seq: int) -> Iterator[Problem]:
    where = f"conversation {conversation}"
    calls = _Calls(where)
    expected = 1
    for row in _rows(conn, conversation):
        if row.seq != expected:
            yield Problem(where, f"row {expected} is missing; row {row.seq} follows row {expected - 1}")
        expected = row.seq + 1
        try:
            yield from calls.see(row)
        except (ValueError, TypeError, LookupError) as error:
            yield Problem(where, f"row {row.seq} cannot be read ({type(error).__name__}: {error})")
    if next_seq != expected:
        yield Problem(where, f"the next row would be {next_seq}, but should be {expected}")
    yield from calls.end(conn)


def _rows(conn: Connection, conversation: str) -> Iterator[Any]:
    c = t.message.c
    after = 0
    while True:
        query = (
            select(c.seq, c.kind, c["items"], c.run_id)
            .where(c.conversation_id == conversation, c.seq > after)
            .order_by(c.seq)
            .limit(CHUNK)
        )
        page = conn.execute(query).all()
        yield from page
        if len(page) < CHUNK:
            return
        after = page[-1].seq


@define
class _Calls:
    """The calls that wait for their results, by run: (sequence of the assistant row, call id)."""

    where: str
    open: dict[str, deque[tuple[int, str]]] = field(factory=dict)

    def see(self, row: Any) -> Iterator[Problem]:
        if row.kind == RowKind.ASSISTANT:
            # A new reply of the same run: what is still open will never be answered.
            for seq, call in self.open.pop(row.run_id, ()):
                yield self._lost(seq, call, row.run_id)
            calls = deque((row.seq, item[1]) for item in json.loads(row.items) if item[0] == "call")
            if calls:
                self.open[row.run_id] = calls
        elif row.kind == RowKind.RESULT:
            for item in json.loads(row.items):
                if item[0] == "result":
                    yield from self._answer(row.seq, item[1], row.run_id)

    def _answer(self, seq: int, call: str, run: str) -> Iterator[Problem]:
        waiting = self.open.get(run, deque())
        place = next((place for place, (_, waits) in enumerate(waiting) if waits == call), None)
        if place is None:
            yield Problem(
                self.where, f"row {seq} answers call {call!r}, which no row before it waits for (run {run})"
            )
            return
        if place:
            yield Problem(
                self.where, f"row {seq} answers call {call!r} before the calls in front of it (run {run})"
            )
        del waiting[place]
        if not waiting:
            del self.open[run]

    def end(self, conn: Connection) -> Iterator[Problem]:
        if not self.open:
            return
        query = select(t.run.c.id).where(t.run.c.id.in_(self.open), t.run.c.status.in_(_UNSETTLED))
        unsettled = set(conn.execute(query).scalars())
        for run, calls in self.open.items():
            if run not in unsettled:
                for seq, call in calls:
                    yield self._lost(seq, call, run)

    def _lost(self, seq: int, call: str, run: str) -> Problem:
        return Problem(self.where, f"call {call!r} of row {seq} has no result (run {run})")
