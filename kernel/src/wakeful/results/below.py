"""What the answer of a sub-agent is as the result of the call that delegated to it."""

from __future__ import annotations

from typing import Final

from wakeful.types import ActionResult, Answer, Json, Run, RunStatus, Trust, kept_document

_CODES: Final = {
    RunStatus.FAILED: "SUB_AGENT_FAILED",
    RunStatus.LIMIT_REACHED: "SUB_AGENT_LIMIT",
    RunStatus.CANCELLED: "SUB_AGENT_CANCELLED",
}


def answer_of(run: Run, answer: Answer) -> ActionResult:
    """Return the result; it is believed as far as the worst that the sub-agent has seen.

    What the sub-agent wanted done with its answer stays with it: only its text and payload come up.
    """
    taint = run.taint
    source = f"sub-agent:{run.agent.name}"
    outputs: dict[str, Json] = {"text": answer.text} if answer.text else {}
    kept = kept_document(run)
    if kept is not None and "document" in kept:
        outputs["payload"] = kept["document"]
        taint = max(taint, *(Trust(mark[1]) for mark in kept.get("marks", ())), Trust.TRUSTED)
    success = answer.status is RunStatus.COMPLETED
    message = f"run {answer.run_id}" + (f": {answer.error}" if answer.error else "")
    return ActionResult(
        success=success,
        code="SUCCESS" if success else _CODES.get(answer.status, "SUB_AGENT_FAILED"),
        message=message,
        outputs=outputs,
        trust=taint,
        source=source,
    )
