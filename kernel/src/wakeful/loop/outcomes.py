"""How the calls of a run ended: remembered while it runs, read back when it is taken up again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import case, func, select

from wakeful.loop.found import FOUND
from wakeful.loop.plan import Planned
from wakeful.store.tables import action_call
from wakeful.types import ActionResult, Invocation, Json, Outcome, canonical, clean

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from wakeful.loop.close import Work

#: Statuses of calls that ran, and of those that were answered without running.
_EXECUTED = ("done", "unknown")
_ANSWERED = ("refused", "denied")
#: Calls that ran, also while it is not told yet what a person said became of one.
_RAN = action_call.c.status.in_(_EXECUTED) | action_call.c.code.in_(FOUND)


def outcome(inv: Invocation, result: ActionResult, *, executed: bool) -> Outcome:
    """Return what the run remembers of one call; ``result`` is as the action or the kernel gave it."""
    retryable = result.recovery.retryable if result.recovery else None
    args = canonical(clean(inv.args))
    return Outcome(inv.key, inv.action, args, result.success, result.code, retryable, executed)


def outcomes_of(planned: Sequence[Planned], work: Work) -> list[Outcome]:
    """Return how the calls of a step ended, in call order; held and cancelled ones have no end yet."""
    found = []
    for item in planned:
        result = work.results.get(item.invocation.key)
        if result is not None:
            found.append(outcome(item.invocation, result, executed=True))
        elif item.result is not None and item.status in _ANSWERED:
            found.append(outcome(item.invocation, item.result, executed=False))
    return found


def load_outcomes(conn: Connection, run_id: str) -> tuple[Outcome, ...]:
    """Return how the calls of a run's closed steps ended, from the journal."""
    failed = case((action_call.c.success.is_(False), action_call.c.result))  # results of others may be long
    columns = ("key", "action", "args", "success", "code", "status")
    query = (
        select(*(action_call.c[name] for name in columns), failed.label("failed"))
        .where(action_call.c.run_id == run_id, _RAN | action_call.c.status.in_(_ANSWERED))
        .where(action_call.c.result_seq.is_not(None))  # those of an open step count when it closes
        .where(action_call.c.parent.is_(None))
        .order_by(action_call.c.step, action_call.c.index_, action_call.c.inner)
    )
    return tuple(
        Outcome(
            row.key,
            row.action,
            row.args,
            bool(row.success),
            row.code,
            _retryable(row.failed),
            row.status not in _ANSWERED,
        )
        for row in conn.execute(query)
    )


def load_within(conn: Connection, run_id: str) -> dict[str, int]:
    """Return how often actions ran inside other calls of a run's closed steps, by tool name."""
    query = (
        select(action_call.c.action, func.count())
        .where(action_call.c.run_id == run_id, _RAN)
        .where(action_call.c.result_seq.is_not(None), action_call.c.parent.is_not(None))
        .group_by(action_call.c.action)
    )
    return {action: count for action, count in conn.execute(query)}  # noqa: C416  (rows are no pairs to mypy)


def _retryable(result: str | None) -> bool | None:
    recovery: dict[str, Json] = json.loads(result).get("recovery", {}) if result else {}
    return recovery.get("retryable")
