"""The statements of the queue, built once: building one costs more than executing it.

Parameters end in an underscore, so that none is taken for a column.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, case, exists, func, or_, select, tuple_, update
from sqlalchemy import text as sql

from wakeful.store.columns import UTCDateTime
from wakeful.store.work import work_item

#: Statuses that hold an item's key.
HELD = ("running", "cancelling")
#: The first number of the advisory locks on keys, apart from those of other programs: "wake" in ASCII.
LOCKS = int.from_bytes(b"wake", "big")

_c = work_item.c
_held, _first = work_item.alias("held"), work_item.alias("first_")
_ID: Any = bindparam("id_")
_NOW, _UNTIL = bindparam("now_", type_=UTCDateTime), bindparam("until_", type_=UTCDateTime)
_NOT_BEFORE = bindparam("not_before_", type_=UTCDateTime)
_IDS: Any = bindparam("ids_", expanding=True)
_KINDS: Any = bindparam("kinds_", expanding=True)
_FREE = ~exists().where(_held.c.key == _c.key, _held.c.status.in_(HELD))
# In words, not as parameters: only so does SQLite use the partial index.
_IS_HELD = sql("work_item.status IN ('running', 'cancelling')")
_QUEUED = _c.status == "queued"


def _claimable() -> Select[tuple[str, str]]:
    # Of several items of a key the first by (priority, time, id) goes; the others wait for it. Items of
    # kinds that nobody here handles hold nobody up.
    order = (_first.c.priority, _first.c.created_at, _first.c.id)
    earlier = tuple_(*order) < tuple_(_c.priority, _c.created_at, _c.id)
    due = (_first.c.not_before <= _NOW, _first.c.kind.in_(_KINDS))
    waits = exists().where(_first.c.key == _c.key, _first.c.status == "queued", earlier, *due)
    left = bindparam("left_", type_=UTCDateTime)
    mine = or_(_c.submitter.in_((bindparam("owner_"), "")), _c.not_before <= left)
    without = _c.key.not_in(bindparam("without_", expanding=True))
    return (
        select(_c.id, _c.key)
        .where(_QUEUED, _c.not_before <= _NOW, _c.kind.in_(_KINDS), mine, without, _FREE, ~waits)
        .order_by(_c.priority, _c.not_before, _c.created_at, _c.id)
        .limit(bindparam("room_"))
    )


#: What can start now, best first, one of each key.
CLAIMABLE = _claimable()

_best = CLAIMABLE.subquery()
#: The same on PostgreSQL, with the keys locked, and without those that another process has locked. Nobody
#: waits for a key, so nobody waits in a circle; the lock ends with the transaction. Two keys whose hashes are
#: alike stand in for each other, which costs the second one a moment.
CLAIMABLE_LOCKED = select(_best.c.id).where(func.pg_try_advisory_xact_lock(LOCKS, func.hashtext(_best.c.key)))

#: When the next item falls due.
NEXT = select(func.min(_c.not_before)).where(_QUEUED, _c.not_before > _NOW, _c.kind.in_(_KINDS))

#: Take items, unless something has come between. The concatenation keeps SQLite from walking through all that
#: is queued instead of fetching the few rows by their ids.
CLAIM = (
    update(work_item)
    .where(_c.id.in_(_IDS), _c.status.concat("") == "queued", _FREE)
    .values(
        status="running",
        owner=bindparam("owner_"),
        attempts=_c.attempts + 1,
        lease_until=_UNTIL,
        updated_at=_NOW,
    )
    .returning(_c.id, _c.kind, _c.key, _c.payload, _c.priority, _c.attempts)
)

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
    .where(_IS_HELD, or_(_c.lease_until < _NOW, _c.owner.in_(bindparam("dead_", expanding=True))))
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
    _c.status.in_(HELD),
)
_unless_cancelled: Any = case((_c.status == "cancelling", "cancelled"), else_=bindparam("status_"))

#: End an attempt, if it still has its item.
END = (
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
HOLDS = select(_c.id).where(*_own).with_for_update()
