"""New requests: what is stored when a person is asked."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from attrs import evolve

from wakeful.types import (
    Action,
    Invocation,
    Json,
    Judgement,
    Run,
    Verdict,
    canonical,
    clean,
    clean_text,
    digest,
)
from wakeful_policy.approvals.origins import origins
from wakeful_policy.approvals.questions import ASK, OUTCOME, expected, fitting
from wakeful_policy.approvals.tables import Stored

#: Owner of the action that asks people.
NAME: Final = "approvals"


def request_of(
    run: Run,
    inv: Invocation,
    judgement: Judgement,
    action: Action | None,
    *,
    id_: str,
    now: datetime,
    days: float,
) -> Stored:
    """Return the request about a call that is held.

    Args:
        run: the run.
        inv: the call.
        judgement: why it is held.
        action: what it would execute; None if the agent has no such action.
        id_: of the request.
        now: the time.
        days: after which it is void; 0 = never.

    Raises:
        DeclarationError: a question's schema is none.
    """
    args = clean(inv.args)
    stored = Stored(
        number=0,
        id=id_,
        conversation=run.conversation,
        run=run.id,
        step=run.step,
        key=inv.key,
        kind="draft" if judgement.verdict is Verdict.STAGE else "approval",
        agent=run.agent.name,
        asker=run.user,
        action=inv.action,
        args=args,
        digest=digest(canonical(args)),
        reason=clean_text(judgement.reason),
        basis=judgement.basis,
        provenance=origins(run, inv),
        expected=_expected(action),
        priority=run.priority,
        assignee=judgement.assignee,
        asker_decides=judgement.asker_decides,
        status="pending",
        decided_by="",
        decided_args=None,
        answer=None,
        created_at=now,
        expires_at=now + timedelta(days=days) if days else None,
        decided_at=None,
    )
    if action is None or (action.owner, inv.action) != (NAME, ASK):
        return stored
    schema = expected(inv.args)
    fitting({"anyOf": [schema, {}]}, "")  # a schema that is none is the asker's mistake, now
    return evolve(stored, kind="question", expected=schema)


def outcome_of(stored: Stored) -> Stored:
    """Return the request that asks what became of a call whose process ended while it ran."""
    return evolve(
        stored,
        kind="outcome",
        reason="the process ended while it ran: did it take effect?",
        expected=OUTCOME,
        basis="",
        assignee="",
        expires_at=None,
    )


def columns(stored: Stored) -> dict[str, Json]:
    """Return the row of a new request."""
    names = (
        *("id", "step", "key", "kind", "agent", "asker", "action", "digest", "reason", "basis"),
        *("priority", "assignee", "asker_decides", "status", "created_at", "expires_at"),
    )
    texts = {name: canonical(clean(getattr(stored, name))) for name in ("args", "provenance", "expected")}
    plain = {name: getattr(stored, name) for name in names}
    return {**plain, **texts, "conversation_id": stored.conversation, "run_id": stored.run}


def _expected(action: Action | None) -> Json:
    """Return the JSON schema of a decision."""
    properties: dict[str, Json] = {
        "decision": {"enum": ["approve", "reject"]},
        "rule": {"type": "object", "description": "a rule about later calls of this action"},
    }
    if action is not None:
        properties["args"] = action.schema
    return {"type": "object", "properties": properties, "required": ["decision"]}
