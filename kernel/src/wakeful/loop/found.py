"""What a person found out about a call whose outcome nobody knew: stored like a decision, told like one.

The call has its result, ``OUTCOME_UNKNOWN``, so what the person says enters as a row of kind ``late-result``,
at the next boundary of a step, or behind a run that has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import select, update

from wakeful.loop.codec import dump_result
from wakeful.store.tables import action_call, run
from wakeful.types import (
    ActionResult,
    ApprovalRequest,
    ErrorRecovery,
    Priority,
    Trust,
    WorkItem,
    failure,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from wakeful.loop.decisions import Wake

TOOK_EFFECT: Final = "OUTCOME_TOOK_EFFECT"
NO_EFFECT: Final = "OUTCOME_NO_EFFECT"
#: Codes of what people said.
FOUND: Final = (TOOK_EFFECT, NO_EFFECT)


def store_found(conn: Connection, request: ApprovalRequest, wake: Wake) -> None:
    """Store what a person said became of a call, and wake its run to tell the model.

    Args:
        conn: of the transaction that settles the request.
        request: as settled.
        wake: stores the wake-up.
    """
    if request.took_effect is None:
        return
    result = _result(request, took_effect=request.took_effect)
    values = {"status": "executing", "success": result.success, "code": result.code}
    unknown = update(action_call).where(action_call.c.key == request.key, action_call.c.status == "unknown")
    if conn.execute(unknown.values(**values, result=dump_result(result), result_ref=None)).rowcount != 1:
        return
    query = select(run.c.id, run.c.conversation_id).join(action_call, action_call.c.run_id == run.c.id)
    of = conn.execute(query.where(action_call.c.key == request.key)).one()
    wake(
        conn,
        WorkItem(f"resume:{request.id}", "resume", of.conversation_id, {"run": of.id}, Priority.RESUME),
    )


def _result(request: ApprovalRequest, *, took_effect: bool) -> ActionResult:
    said = f"{request.decided_by or 'a person'} found out that this call"
    if took_effect:
        message = f"{said} took effect, although its process ended; it is done, what it returned is lost"
        return ActionResult(code=TOOK_EFFECT, message=message, trust=Trust.TRUSTED)
    recovery = ErrorRecovery(retryable=True, suggestion="Call it again if it is still wanted.")
    return failure(NO_EFFECT, f"{said} did not take effect", recovery)
