"""What is stored of sub-agents: which runs stand below which, and what passes between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Select, bindparam, literal, or_, select, update

from wakeful.loop.codec import dump_result
from wakeful.loop.statements import guard
from wakeful.loop.tally import Tally
from wakeful.store.prepared import Prepared
from wakeful.store.records import usage_of
from wakeful.store.tables import action_call, run
from wakeful.types import (
    ActionResult,
    ErrorRecovery,
    Json,
    Limits,
    Priority,
    Run,
    RunStatus,
    Verdict,
    WorkItem,
    failure,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: How the conversation of a sub-agent's run is named: by the call that delegated.
_PREFIX: Final = "sub:"
#: Code of the result of a call whose sub-agent waits for a person.
WAITS: Final = "SUB_AGENT_WAITS"
#: Statuses of calls that never run.
_NEVER: Final = ("refused", "denied", "rejected", "cancelled")
_OPEN = (RunStatus.RUNNING.value, RunStatus.AWAITING_APPROVAL.value, RunStatus.AWAITING_FEEDBACK.value)

#: Held calls that a run waits for: all but drafts, which block nothing.
HOLDING: Final = (
    action_call.c.status == "held",
    action_call.c.verdict != Verdict.STAGE.name.lower(),
    action_call.c.approval_id.is_not(None),
)
#: Stores a wake-up in a transaction that is under way.
Wake = Callable[[Connection, WorkItem], None]


def conversation_of(key: str) -> str:
    """Return the conversation of the sub-agent that a call delegates to."""
    return f"{_PREFIX}{key}"


def key_of(conversation: str) -> str:
    """Return the key of the call that a sub-agent's conversation belongs to."""
    return conversation.removeprefix(_PREFIX)


def _all_beneath() -> Select[Any]:
    """Return the query for the calls below a conversation; by indexes only, since every turn asks."""
    tree = select(run.c.id).where(run.c.conversation_id == bindparam("id_")).cte("tree", recursive=True)
    caller, child = action_call.alias("caller"), run.alias("child")
    delegated = child.c.conversation_id == literal(_PREFIX).concat(caller.c.key)
    tree = tree.union_all(select(child.c.id).where(caller.c.run_id == tree.c.id, delegated))
    inside = or_(action_call.c.parent.is_not(None), run.c.conversation_id != bindparam("id_"))
    return (
        select(action_call.c.key, action_call.c.action, action_call.c.args)
        .join(run, run.c.id == action_call.c.run_id)
        .join(tree, tree.c.id == run.c.id)
        .where(inside, *(action_call.c.status != status for status in _NEVER))
        .order_by(action_call.c.key)
    )


_BENEATH = Prepared(_all_beneath())


def load_beneath(conn: Connection, conversation_id: str) -> tuple[tuple[str, str, str], ...]:
    """Return key, action and arguments of the calls below a conversation that were made or begun.

    They are those of its sub-agents, and those inside of other calls, such as a loop's.
    """
    found = _BENEATH.all(conn, {"id_": conversation_id})
    return tuple((key, action, args) for key, action, args in found)


def child_of(conn: Connection, key: str) -> Mapping[str, Json] | None:
    """Return the run that a call has started, if it has."""
    query = select(run.c.id, run.c.status).where(run.c.conversation_id == conversation_of(key))
    found = conn.execute(query).mappings().first()
    return None if found is None else dict(found)


def below(run_id: str) -> Select[Any]:
    """Return the query for the ids of all runs below one."""
    tree = select(run.c.id).where(run.c.parent_run == run_id).cte("below", recursive=True)
    tree = tree.union_all(select(run.c.id).where(run.c.parent_run == tree.c.id))
    return select(tree.c.id)


def over(conn: Connection, run_id: str) -> bool:
    """Return whether a run has ended."""
    return conn.execute(select(run.c.status).where(run.c.id == run_id)).scalar() not in _OPEN


def fence_of(conn: Connection, run_id: str) -> int:
    """Return which execution of a run may write."""
    return int(conn.execute(select(run.c.fence).where(run.c.id == run_id)).scalar_one())


def undone(conn: Connection, run_id: str) -> bool:
    """Return whether a run that waits has decisions that nobody has acted on."""
    query = select(action_call.c.key).join(run, run.c.id == action_call.c.run_id)
    query = query.where(run.c.id == run_id, run.c.status.in_(_OPEN[1:]))
    query = query.where(action_call.c.status.in_(("approved", "rejected", "executing")))
    return conn.execute(query.limit(1)).first() is not None


def open_below(conn: Connection, run_id: str) -> Sequence[str]:
    """Return the runs directly below one that have not ended."""
    query = select(run.c.id).where(run.c.parent_run == run_id, run.c.status.in_(_OPEN))
    return conn.execute(query.order_by(run.c.started_at, run.c.id)).scalars().all()


def asked_below(conn: Connection, run_id: str) -> tuple[str, ...]:
    """Return the requests for people of the runs below one, in the order of their calls."""
    query = (
        select(action_call.c.approval_id)
        .where(action_call.c.run_id.in_(below(run_id)), *HOLDING)
        .order_by(action_call.c.started_at, action_call.c.key)
    )
    return tuple(conn.execute(query).scalars())


def waits_below(conn: Connection, run_id: str) -> bool:
    """Return whether the answer of a sub-agent is still to come that the run has been told of."""
    query = select(action_call.c.key).where(
        action_call.c.run_id == run_id, action_call.c.status == "held", action_call.c.approval_id.is_(None)
    )
    return conn.execute(query.limit(1)).first() is not None


def stored_tally(conn: Connection, run_id: str, shared: Mapping[str, Tally]) -> Tally:
    """Return what a run and everything below it have used, with the tallies above it.

    Args:
        conn: a connection.
        run_id: the run.
        shared: tallies of runs that are in progress in this process.
    """
    if run_id in shared:
        return shared[run_id]
    found = conn.execute(select(run).where(run.c.id == run_id)).mappings().one()
    above = stored_tally(conn, found["parent_run"], shared) if found["parent_run"] else None
    tally = Tally(
        found["agent"], Limits(**json.loads(found["limits"])), found["steps"], usage_of(found), above=above
    )
    for child in conn.execute(select(run).where(run.c.id.in_(below(run_id)))).mappings():
        tally.steps += child["steps"]
        tally.usage += usage_of(child)
        tally.runs += 1
    return tally


def waiting(child: str) -> ActionResult:
    """Return the result of a call whose sub-agent waits for a person."""
    recovery = ErrorRecovery(retryable=False, suggestion="Go on with other work; its answer will follow.")
    return failure(WAITS, f"the sub-agent's run {child} waits for a person", recovery)


def hold(conn: Connection, run_: Run, key: str, child: str, result: ActionResult) -> bool:
    """Store that the answer to a call follows later; False if the sub-agent has ended meanwhile.

    Raises:
        FencedError: another process took the run over.
    """
    guard(conn, run_)
    # Locked on PostgreSQL, so that the end of the sub-agent comes before or after, not beside this.
    status = conn.execute(select(run.c.status).where(run.c.id == child).with_for_update()).scalar_one()
    if status not in _OPEN:
        return False
    values = {"status": "held", "success": False, "code": result.code, "result": dump_result(result)}
    conn.execute(update(action_call).where(action_call.c.key == key).values(**values))
    return True


def deliver(conn: Connection, run_: Run, result: ActionResult, wake: Wake) -> None:
    """Hand the answer of a sub-agent that had to wait to the call that delegated, and wake its run."""
    key = key_of(run_.conversation)
    held = update(action_call).where(action_call.c.key == key, action_call.c.status == "held")
    values = {"status": "executing", "success": result.success, "code": result.code}
    if conn.execute(held.values(**values, result=dump_result(result))).rowcount != 1:
        return  # whoever delegated is there to take it
    parents = select(run.c.conversation_id).where(run.c.id == run_.parent)
    thread = conn.execute(parents).scalar_one()
    wake(conn, WorkItem(f"resume:{run_.id}", "resume", thread, {"run": run_.parent}, Priority.RESUME))
