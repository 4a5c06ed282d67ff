"""A clean epoch: the rows that taint, and what was made of them, are left out of what is sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import frozen
from sqlalchemy import insert, select

from wakeful.loop.transcript import load_rows
from wakeful.store.tables import conversation, rewrite, run
from wakeful.types import (
    Change,
    ChangeKind,
    ConversationBusyError,
    Row,
    RowKind,
    Run,
    RunStatus,
    Trust,
    View,
    canonical,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Name of the plugin, whose rewrites these are.
PLUGIN = "taint"
REASON = "a person started a clean epoch"
_KEPT = {RowKind.USER, RowKind.STEER}


@frozen
class KeepsDropped:
    """Shortens nothing by itself. Rows that a person left out stay out as long as the plugin is on."""

    name: str = "clean epoch"
    share: float = 1.0
    until: float = 1.0
    order: int = 100
    between_runs: bool = False

    async def relieve(self, run: Run, view: View, excess: int) -> Sequence[Change]:  # noqa: ARG002  (the protocol)
        """Change nothing."""
        return ()


@frozen
class Reset:
    """What a reset left out, and what is left.

    Args:
        agent: the agent of the conversation.
        dropped: sequences of the rows that are left out now.
        characters: of the rows that stay, which the next request sends anew.
    """

    agent: str
    dropped: tuple[int, ...]
    characters: int


def dropped_before(conn: Connection, conversation_id: str) -> set[int]:
    """Return the rows of a conversation that were left out before."""
    query = select(rewrite.c.changes).where(rewrite.c.conversation_id == conversation_id)
    return {
        change[0]
        for (changes,) in conn.execute(query)
        for change in json.loads(changes)
        if change[2] == ChangeKind.DROPPED.value
    }


def to_drop(rows: Sequence[Row], gone: set[int]) -> tuple[int, ...]:
    """Return the rows to leave out: from the step that first saw outside text, all but the user's words.

    A call and its result go together, since a step goes as a whole.
    """
    first = next((row for row in rows if row.trust is not Trust.TRUSTED and row.seq not in gone), None)
    if first is None:
        return ()
    step = [row.seq for row in rows if (row.run, row.step) == (first.run, first.step)]
    start = min(step) if first.step else first.seq
    return tuple(
        row.seq for row in rows if row.seq >= start and row.kind not in _KEPT and row.seq not in gone
    )


def reset(conn: Connection, conversation_id: str, now: datetime) -> Reset | None:
    """Leave the tainted rows of a conversation out; None if there is no such conversation.

    Raises:
        ConversationBusyError: a run of it is active or waits for a person.
    """
    agent = conn.execute(select(conversation.c.agent).where(conversation.c.id == conversation_id)).scalar()
    if agent is None:
        return None
    query = select(run.c.id, run.c.status).where(run.c.conversation_id == conversation_id)
    runs = conn.execute(query.order_by(run.c.turn)).all()
    active = [each.id for each in runs if not RunStatus(each.status).ended]
    if active:
        raise ConversationBusyError(f"run {active[0]} of conversation {conversation_id} has not ended")
    rows, gone = load_rows(conn, conversation_id), dropped_before(conn, conversation_id)
    dropped = to_drop(rows, gone)
    if dropped:
        _store(conn, conversation_id, agent, runs[-1].id, dropped, now)
    left = gone | set(dropped)
    kept = sum(len(row.text) for row in rows if row.seq not in left and row.kind is not RowKind.STATE)
    return Reset(agent, dropped, kept)


def _store(
    conn: Connection, conversation_id: str, agent: str, run_id: str, dropped: Sequence[int], now: datetime
) -> None:
    last = select(rewrite.c.number).where(
        rewrite.c.conversation_id == conversation_id, rewrite.c.agent == agent
    )
    number = conn.execute(last.order_by(rewrite.c.number.desc()).limit(1)).scalar() or 0
    changes = [[seq, 0, ChangeKind.DROPPED.value, "", REASON, False, PLUGIN, 0] for seq in dropped]
    values = {
        "conversation_id": conversation_id,
        "agent": agent,
        "number": number + 1,
        "run_id": run_id,
        "reason": REASON,
        "share": 0.0,
        "changes": canonical(changes),
        "created_at": now,
    }
    conn.execute(insert(rewrite).values(**values))
