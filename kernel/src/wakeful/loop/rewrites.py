"""Rewrites of a conversation's view: read with a run's first view, added to by strategies of plugins."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from attrs import evolve
from sqlalchemy import insert, select

from wakeful.loop.statements import guard
from wakeful.store.tables import rewrite
from wakeful.types import Change, ChangeKind, Json, Rewrites, Run, canonical, clean

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


def with_rewrites(conn: Connection, run: Run, plugins: Collection[str]) -> Run:
    """Return the run with the rewrites of its conversation that its agent is sent.

    Args:
        conn: a connection.
        run: the run.
        plugins: names of the agent's plugins that rewrite; what others did once no longer counts.
    """
    if not plugins:
        return run
    query = (
        select(rewrite.c.reason, rewrite.c.share, rewrite.c.changes)
        .where(rewrite.c.conversation_id == run.conversation, rewrite.c.agent == run.agent.name)
        .order_by(rewrite.c.number)
    )
    found, number = Rewrites(), 0
    for number, row in enumerate(conn.execute(query), 1):
        changes = [change for change in map(_load, json.loads(row.changes)) if change.plugin in plugins]
        if changes:
            found = evolve(found.with_changes(changes, row.reason, row.share), number=number)
    return evolve(run, rewrites=found)


def add_rewrite(
    conn: Connection, run: Run, changes: Sequence[Change], rewrites: Rewrites, now: datetime
) -> int:
    """Store one more rewrite and return its number.

    Args:
        conn: a transaction.
        run: the run whose request is made shorter.
        changes: what this one changes.
        rewrites: what is in force with it.
        now: the time.

    Raises:
        FencedError: another process took the run over.
    """
    guard(conn, run)
    last = select(rewrite.c.number).where(
        rewrite.c.conversation_id == run.conversation, rewrite.c.agent == run.agent.name
    )
    number = (conn.execute(last.order_by(rewrite.c.number.desc()).limit(1)).scalar() or 0) + 1
    values = {
        "conversation_id": run.conversation,
        "agent": run.agent.name,
        "number": number,
        "run_id": run.id,
        "reason": rewrites.reason,
        "share": rewrites.share,
        "changes": canonical(clean([_dump(change) for change in changes])),
        "created_at": now,
    }
    conn.execute(insert(rewrite).values(**values))
    return number


def _dump(change: Change) -> list[Json]:
    return [
        *(change.seq, change.place, change.kind.value, change.text),
        *(change.reason, change.expandable, change.plugin, change.saved),
    ]


def _load(value: list[Json]) -> Change:
    seq, place, kind, text, reason, expandable, plugin, saved = value
    return Change(seq, place, ChangeKind(kind), text, "", reason, expandable, plugin, saved)
