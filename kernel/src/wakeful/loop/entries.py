"""Steps and model calls as they are recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from wakeful.loop.codec import dump_kept, dump_reply
from wakeful.loop.statements import usage_columns
from wakeful.types import (
    Call,
    Json,
    Kept,
    Reply,
    Row,
    RowKind,
    Run,
    Saved,
    Text,
    Trust,
    Usage,
    canonical,
    clean,
)

if TYPE_CHECKING:
    from datetime import datetime

NOTHING = Usage()


@frozen
class Asked:
    """One model call as it is recorded: when it began, what for, and what is known of its request.

    ``model`` is named where it is not the agent's own. ``trust`` and ``source`` are those of the worst
    fragment that it showed the model.
    """

    kind: str
    started: datetime
    fingerprint: str
    prompt: Mapping[str, Json] = field(factory=dict)
    trust: Trust = Trust.TRUSTED
    source: str = ""
    model: str = ""


@frozen
class Made:
    """What made a step: ``model`` or an agent type, the step's name, and what the type saves with it."""

    type: str
    name: str
    saved: Saved = field(factory=dict)

    @property
    def puts(self) -> list[tuple[str, str, Json]]:
        """What is saved, as (plugin, key, value)."""
        return [(plugin, key, value) for plugin, of in self.saved.items() for key, value in of.items()]


def state_row(run_: Run, kept: Kept, asked: Asked) -> Row:
    """Return the row of state that stays in the request history."""
    text = (Text("user", kept.text),)
    return Row(
        0,
        RowKind.STATE,
        text,
        run_.id,
        run_.turn,
        run_.step,
        asked.trust,
        asked.source,
        meta=dump_kept(kept, run_.epoch.id, run_.agent.name),
    )


def step_columns(
    run_: Run, asked: Asked, status: str, usage: Usage, seq: int, now: datetime
) -> dict[str, Json]:
    """Return the columns of a step whose reply is row ``seq``; 0 if there is none."""
    seen = {"rows": len(run_.rows), "fingerprint": asked.fingerprint}
    return {
        "run_id": run_.id,
        "number": run_.step,
        "type": "model",
        "name": run_.agent.model,
        "status": status,
        "input": canonical(seen),
        "output": canonical({"seq": seq} if seq else {}),
        "error": "",
        "started_at": asked.started,
        "ended_at": None if status == "replied" else now,
        **usage_columns(usage),
    }


def call_columns(
    run_: Run,
    asked: Asked,
    ended: datetime,
    reply: Reply | None,
    error: str = "",
    lost: Usage = NOTHING,
) -> dict[str, Json]:
    """Return the columns of a model call."""
    return {
        "run_id": run_.id,
        "step": run_.step,
        "kind": asked.kind,
        "model": (reply.model if reply else "") or asked.model or run_.agent.model,
        "fingerprint": asked.fingerprint,
        "prompt": canonical(clean(dict(asked.prompt))),
        "reply": dump_reply(reply) if reply else "[]",
        "stop": reply.stop.value if reply else "",
        "error": error,
        "started_at": asked.started,
        "ended_at": ended,
        **usage_columns(reply.usage if reply else lost),
    }


def status_of(reply: Reply) -> str:
    """Return where a step is that has this reply."""
    return "replied" if any(isinstance(item, Call) for item in reply.items) else "closed"
