"""The statements of the queue, built once: building one costs more than executing it.

Parameters end in an underscore, so that none is taken for a column.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, case, exists, func, or_, select, tuple_, update
from sqlalchemy import text as sql
from sqlalchemy.sql.dml import ReturningUpdate

from wakeful.store.columns import UTCDateTime
from wakeful.store.prepared import Prepared
from wakeful.store.work import HELD, work_item

#: The first number of the advisory locks on keys, apart from those of other programs: "wake" in ASCII.
LOCKS = int.from_bytes(b"wake", "big")

_c = work_item.c
_held, _first = work_item.alias("held"), work_item.alias("first_")
_ID: Any = bindparam("id_")
_NOW, _UNTIL = bindparam("now_", type_=UTCDateTime), bindparam("until_", type_=UTCDateTime)
_NOT_BEFORE = bindparam("not_before_", type_=UTCDateTime)
_IDS: Any = bindparam("ids_", expanding=True)
_FREE = ~exists().where(_held.c.key == _c.key, or_(*(_held.c.status == status for status in HELD)))
# In words, not as parameters: only so does SQLite use the partial index.
_IS_HELD = sql(f"work_item.status IN {HELD}")
_QUEUED = _c.status == "queued"


#: Kinds of items in their order, and keys that cannot be taken: what a runtime looks for hardly ever changes.
Sought = tuple[tuple[str, ...], tuple[str, ...]]


def _of_kinds(kind: ColumnElement[str], sought: Sought) -> ColumnElement[bool]:
    return or_(*(kind == each for each in sought[0]))


def _claimable(sought: Sought) -> Select[tuple[str, str]]:
    # Of several items of a key the first by (priority, time, id) goes; the others wait for it. Items of
    # kinds that nobody here handles hold nobody up.
    order = (_first.c.priority, _first.c.created_at, _first.c.id)
    earlier = tuple_(*order) < tuple_(_c.priority, _c.created_at, _c.id)
    due = (_first.c.not_before <= _NOW, _of_kinds(_first.c.kind, sought))
    waits = exists().where(_first.c.key == _c.key, _first.c.status == "queued", earlier, *due)
    left = bindparam("left_", type_=UTCDateTime)
    mine = or_(_c.submitter == bindparam("owner_"), _c.submitter == "", _c.not_before <= left)
    takeable = (_of_kinds(_c.kind, sought), *(_c.key != key for key in sought[1]))
    return (
        select(_c.id, _c.key)
        .where(_QUEUED, _c.not_before <= _NOW, *takeable, mine, _FREE, ~waits)
        .order_by(_c.priority, _c.not_before, _c.created_at, _c.id)
        .limit(bindparam("room_"))
    )


@lru_cache(maxsize=64)
def claimable(sought: Sought) -> Prepared:
    """Return the statement for what can start now, best first, one of each key."""
    return Prepared(_claimable(sought))


@lru_cache(maxsize=64)
def claimable_locked(sought: Sought) -> Prepared:
    """Return the same for PostgreSQL, with the keys locked and without those that another process has locked.

    Nobody waits for a key, so nobody waits in a circle; the lock ends with the transaction. Two keys whose
    hashes are alike stand in for each other, which costs the second one a moment.
    """
    best = _claimable(sought).subquery()
    return Prepared(select(best.c.id).where(func.pg_try_advisory_xact_lock(LOCKS, func.hashtext(best.c.key))))


@lru_cache(maxsize=64)
def next_due(sought: Sought) -> Prepared:
    """Return the statement for when the next item falls due."""
    return Prepared(
        select(func.min(_c.not_before).label("due")).where(
            _QUEUED, _c.not_before > _NOW, _of_kinds(_c.kind, sought)
        )
    )


def _claim(which: ColumnElement[bool]) -> ReturningUpdate[Any]:
    # The concatenation keeps SQLite from walking through all that is queued instead of fetching the few rows
    # by their ids.
    return (
        update(work_item)
        .where(which, _c.status.concat("") == "queued", _FREE)
        .values(
            status="running",
            owner=bindparam("owner_"),
            attempts=_c.attempts + 1,
            lease_until=_UNTIL,
            updated_at=_NOW,
        )
        .returning(_c.id, _c.kind, _c.key, _c.payload, _c.priority, _c.attempts)
    )


#: Take items, unless something has come between.
CLAIM = _claim(_c.id.in_(_IDS))
#: The same for one item, which is what there usually is.
CLAIM_ONE = Prepared(_claim(_c.id == _ID))

#: Extend the leases of an owner.
RENEW = (
    update(work_item)
    .where(_c.owner == bindparam("owner_"), _IS_HELD, _c.id.in_(_IDS))
    .values(lease_until=_UNTIL)
    .returning(_c.id, _c.attempts, _c.status)
)

#: Who holds items: owner, when the first lease runs out, how many were cancelled.
HOLDERS = (
    select(_c.owner, func.min(_c.lease_until), func.sum(case((_c.status == "cancelling", 1), else_=0)))
    .where(_IS_HELD)
    .group_by(_c.owner)
)

#: Items whose lease ran out or whose owner is dead. A row that is locked is being ended or taken over.
LOST = (
    select(_c.id, _c.status, _c.attempts)
    .where(
        _IS_HELD,
        or_(_c.lease_until < _NOW, _c.owner.in_(bindparam("dead_", expanding=True))),
        _c.id.not_in(bindparam("kept_", expanding=True)),
    )
    .order_by(_c.id)
    .with_for_update(skip_locked=True)
)

#: Take a lost item from its owner.
TAKE = (
    update(work_item)
    .where(_c.id == _ID)
    .values(
        status=bindparam("status_"),
        owner="",
        submitter="",
        error=bindparam("error_"),
        not_before=func.coalesce(_NOT_BEFORE, _c.not_before),
        updated_at=_NOW,
    )
)

_own = (
    _c.id == _ID,
    _c.owner == bindparam("owner_"),
    _c.attempts == bindparam("attempt_"),
    or_(*(_c.status == status for status in HELD)),
)
_unless_cancelled: Any = case((_c.status == "cancelling", "cancelled"), else_=bindparam("status_"))

#: End an attempt, if it still has its item.
END = Prepared(
    update(work_item)
    .where(*_own)
    .values(status=_unless_cancelled, owner="", error=bindparam("error_"), updated_at=_NOW)
)

#: Queue an item again, if the attempt still has it.
GIVE_BACK = (
    update(work_item)
    .where(*_own)
    .values(
        status=_unless_cancelled,
        owner="",
        submitter="",
        error=bindparam("error_"),
        not_before=_NOT_BEFORE,
        attempts=_c.attempts - bindparam("uncounted_"),
        updated_at=_NOW,
    )
)

#: Whether an attempt still has its item; locks the row.
HOLDS = Prepared(select(_c.id).where(*_own).with_for_update())
