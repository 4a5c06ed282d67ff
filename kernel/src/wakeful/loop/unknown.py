"""Calls whose outcome nobody knows: told as that, and put to a person where a plugin can ask one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from wakeful.loop.live import Live
from wakeful.loop.recorded import invocation_of
from wakeful.store.tables import action_call
from wakeful.types import (
    ActionResult,
    Answers,
    ApprovalRequest,
    ErrorRecovery,
    Invocation,
    PersonAsked,
    PluginError,
    StoreError,
    failure,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from wakeful.store.transaction import Transaction


def reruns(live: Live, name: str) -> bool:
    """Whether an interrupted call of an action may simply run again; not if the action is gone."""
    action = live.agent.actions.get(name)
    return action is not None and action.reruns


async def settle_lost(live: Live) -> dict[str, ActionResult]:
    """Store that nobody knows the outcome of the run's calls that must not simply run again.

    Those are the once calls, inside others too, that were begun and have no result, because their process
    ended. The calls inside an approved one belong to the step at which it was carried out, not to its own.

    Returns:
        The results of these calls, by key.
    """
    c = action_call.c
    begun = (c.status == "intended") & c.result.is_(None) & c.result_ref.is_(None)
    query = select(action_call).where(c.run_id == live.run.id, begun).order_by(c.key)
    rows = await live.store.read(lambda conn: conn.execute(query).mappings().all())
    lost = [invocation_of(dict(row), {}) for row in rows if not reruns(live, row["action"])]
    if not lost:
        return {}
    async with live.store.transaction() as tx:
        settled = [(inv.key, *await outcome_unknown(live, tx, inv)) for inv in lost]
        written = [await live.journal.result_values(key, raw, "unknown", ()) for key, raw, _ in settled]

        def write(conn: Connection) -> None:
            for each in written:
                live.journal.put_result(conn, live.run, *each)

        await tx.conclude(write)
    for _, _, request in settled:
        if request is not None:
            await live.emit(PersonAsked(live.run.id, request))
    return {key: raw for key, raw, _ in settled}


async def outcome_unknown(
    live: Live, tx: Transaction, inv: Invocation
) -> tuple[ActionResult, ApprovalRequest | None]:
    """Return the result of a call that may or may not have taken effect when its process ended.

    A person is asked in the transaction that stores it; the request is returned too, if there is one.
    """
    advice = "Find out whether it took effect, or ask a person; do not simply call it again."
    said = f"the process ended while {inv.action} ran; it may or may not have taken effect"
    request = await _ask(live, tx, inv)
    if request is not None:
        said = f"{said}; a person is asked whether it did"
    return failure("OUTCOME_UNKNOWN", said, ErrorRecovery(retryable=False, suggestion=advice)), request


async def _ask(live: Live, tx: Transaction, inv: Invocation) -> ApprovalRequest | None:
    slot = live.agent.approvals
    if not isinstance(slot, Answers):
        return None
    try:
        async with tx.savepoint():
            return await slot.unknown(tx, live.run, inv)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001  (the model is told in any case, and it is noted)
        failed = PluginError(live.agent.slot("policy_approvals"), "policy_approvals", error)
        live.notices.append(live.redactor.text(str(failed)))
        return None
