"""The plugin: strategies over what is sent, and the action that shows a compacted message again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wakeful.hookspecs import hookimpl
from wakeful.types import (
    Action,
    ActionContext,
    ActionError,
    ActionResult,
    Effect,
    Json,
    MessageChanged,
    Param,
    Relief,
    ResultCode,
    Services,
    Trust,
)
from wakeful_recovery.lifecycle.batch import Batch
from wakeful_recovery.lifecycle.overflow import strategies
from wakeful_recovery.lifecycle.settings import LifecycleSettings

_SEQUENCE = {"type": "integer", "minimum": 1, "description": "sequence that the shortened message names"}


class Lifecycle:
    """Lets results age in what is sent, and makes room when it is short. Rows stay as they are."""

    Settings = LifecycleSettings

    def __init__(self, settings: LifecycleSettings, services: Services) -> None:
        """Keep the settings; the strategies have no state of their own."""
        self._settings, self._services = settings, services

    @hookimpl
    def prompt_relief(self) -> Sequence[Relief]:
        """Give batched expiry and the five strategies for a context that is full."""
        return (Batch(self._settings, self._services), *strategies())

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Give ``expand_message``."""
        return (
            Action(
                name="Expand Message",
                description="Show a message again as a whole that is shown shortened now. Call it when the "
                "shortened text lacks what you need. Returns the original text.",
                schema={
                    "type": "object",
                    "properties": {"sequence": _SEQUENCE},
                    "required": ["sequence"],
                },
                run=expand,
                effect=Effect.READ,
                output_trust=Trust.TRUSTED,
                params=(Param(name="sequence", description=str(_SEQUENCE["description"]), schema=_SEQUENCE),),
                result_codes=(
                    ResultCode("SUCCESS", success=True, description="the text is there"),
                    ResultCode("UNKNOWN_SEQUENCE", success=False, description="no message has it"),
                    ResultCode("NOT_SHORTENED", success=False, description="it is shown as a whole"),
                    ResultCode("NOT_EXPANDABLE", success=False, description="it was removed for good"),
                ),
                category="history",
            ),
        )


async def expand(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
    """Return the original of a compacted message, as far to be believed as it was."""
    run, sequence = ctx.run, int(args["sequence"])
    last = run.rows[-1].seq if run.rows else 0
    expandable = sorted({change.seq for change in run.rewrites.changes.values() if change.expandable})
    near = [str(seq) for seq in expandable[-5:]]
    row = next((row for row in run.rows if row.seq == sequence), None)
    if row is None:
        what = f"there is no message {sequence}; they go from 1 to {last}"
        raise ActionError("UNKNOWN_SEQUENCE", what, retryable=False, suggested=near)
    changes = [change for change in run.rewrites.changes.values() if change.seq == sequence]
    if not changes:
        what = f"message {sequence} is shown as a whole; read it above"
        raise ActionError("NOT_SHORTENED", what, retryable=False, suggested=near)
    if not any(change.expandable for change in changes):
        what = f"message {sequence} was left out to make room and cannot be shown again"
        advice = "Call the action again if you need its result."
        raise ActionError("NOT_EXPANDABLE", what, retryable=False, suggestion=advice, suggested=near)
    saved = sum(change.saved for change in changes)
    await ctx.emit(
        MessageChanged(run.id, "expanded", sequence, 0, row.turn, "asked for", -saved, "lifecycle")
    )
    return ActionResult(
        message=f"message {sequence} of turn {row.turn}",
        outputs={"text": row.text},
        trust=row.trust,
        source=row.source,
    )
