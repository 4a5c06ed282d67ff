"""How the work of a database stands: what waits, what nobody executes any more, what was given up."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from attrs import frozen
from sqlalchemy import Connection, func, or_, select
from sqlalchemy import text as sql

from wakeful.store import tables as t
from wakeful.store.work import HELD, work_item
from wakeful.types.enums import RunStatus

#: Entries of each kind that are listed.
MOST = 20


@frozen
class WorkRecord:
    """A work item as it is stored.

    Args:
        id, kind, key: of the item; the key of a run is its conversation.
        run: the run it is about; empty if it is about none.
        status: as stored.
        attempts: how often it was begun.
        error: why the last attempt ended.
        lease_until: when the lease of its holder runs out, or ran out.
        gone: whether its holder is known to have ended.
        updated_at: when its status changed.
    """

    id: str
    kind: str
    key: str
    run: str
    status: str
    attempts: int
    error: str
    lease_until: datetime | None
    gone: bool
    updated_at: datetime


@frozen
class Health:
    """How the work stands; lists hold at most :data:`MOST` entries.

    Args:
        size: of the database in bytes.
        waiting: items that wait for their turn or their time.
        running: items that a process holds.
        dead: how many items were given up after their last attempt.
        dead_letters: the latest of these.
        stale: items whose holder has ended or let its lease run out; whoever serves the database takes them
            over.
        adrift: runs that are marked as running and that no item will bring to an end.
    """

    size: int
    waiting: int
    running: int
    dead: int
    dead_letters: tuple[WorkRecord, ...]
    stale: tuple[WorkRecord, ...]
    adrift: tuple[str, ...]


def health(conn: Connection, now: datetime, is_dead: Callable[[str], bool]) -> Health:
    """Return how the work of a database stands.

    Args:
        conn: a connection for reading.
        now: the time, for leases.
        is_dead: says whether the holder of a lease has certainly ended.
    """
    c = work_item.c
    counts: dict[str, int] = dict(
        conn.execute(select(c.status, func.count()).group_by(c.status)).tuples().all()
    )
    dead = select(work_item).where(c.status == "failed").order_by(c.updated_at.desc(), c.id)
    owners = conn.execute(select(c.owner).where(c.status.in_(HELD)).distinct()).scalars()
    gone = frozenset(owner for owner in owners if is_dead(owner))
    lost = or_(c.lease_until < now, c.owner.in_(gone))
    stale = select(work_item).where(c.status.in_(HELD), lost).order_by(c.lease_until, c.id)
    live = select(c.id).where(c.key == t.run.c.conversation_id, c.status.in_(("queued", *HELD)))
    adrift = (
        select(t.run.c.id)
        .where(t.run.c.status == RunStatus.RUNNING.value, t.run.c.parent_run.is_(None), ~live.exists())
        .order_by(t.run.c.started_at, t.run.c.id)
        .limit(MOST)
    )
    return Health(
        size=_size(conn),
        waiting=counts.get("queued", 0),
        running=sum(counts.get(status, 0) for status in HELD),
        dead=counts.get("failed", 0),
        dead_letters=_records(conn.execute(dead.limit(MOST)).mappings().all(), gone),
        stale=_records(conn.execute(stale.limit(MOST)).mappings().all(), gone),
        adrift=tuple(conn.execute(adrift).scalars()),
    )


def _records(rows: Sequence[Any], gone: Collection[str]) -> tuple[WorkRecord, ...]:
    return tuple(
        WorkRecord(
            row["id"],
            row["kind"],
            row["key"],
            str((json.loads(row["payload"]) or {}).get("run", "")),
            row["status"],
            row["attempts"],
            row["error"],
            row["lease_until"],
            row["owner"] in gone,
            row["updated_at"],
        )
        for row in rows
    )


def _size(conn: Connection) -> int:
    if conn.dialect.name == "sqlite":
        pages, page = (
            conn.execute(sql(f"PRAGMA {name}")).scalar_one() for name in ("page_count", "page_size")
        )
        return int(pages) * int(page)
    return int(conn.execute(sql("SELECT pg_database_size(current_database())")).scalar_one())
