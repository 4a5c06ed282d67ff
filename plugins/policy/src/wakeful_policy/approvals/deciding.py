"""Who may settle a request, what is refused and recorded, and the one statement that settles it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from attrs import evolve, frozen
from sqlalchemy import insert, update

from wakeful.tools.arguments import check_arguments
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    ApprovalRequest,
    ConfigError,
    Json,
    Problem,
    Tx,
    canonical,
    clean,
    clean_text,
    digest,
)
from wakeful_policy.approvals.lines import lines
from wakeful_policy.approvals.questions import TOOK_EFFECT
from wakeful_policy.approvals.tables import Stored, attempt, load, request, requests

#: Kinds that are answered; the others are approved or rejected.
ANSWERED: Final = frozenset({"question", "outcome"})
#: Characters of a name or an id that are kept of an attempt.
_KEPT: Final = 200


@frozen
class Wanted:
    """What somebody wants of a request.

    Args:
        id: of the request.
        what: ``approve``, ``reject`` or ``answer``.
        by: who; empty is nobody.
        args: of ``approve``: edited arguments, or None.
        rule: of ``approve`` and ``reject``: a rule about later calls, or None.
        answer: of ``answer``.
    """

    id: str
    what: str
    by: str
    args: Json = None
    answer: Json = None
    rule: Json = None


def public(stored: Stored, approvers: Sequence[str]) -> ApprovalRequest:
    """Return a request as the kernel knows it, with the card that people are shown."""
    return ApprovalRequest(
        id=stored.id,
        key=stored.key,
        run=stored.run,
        action=stored.action,
        args=stored.given,
        digest=digest(canonical(stored.given)),
        status=stored.status,
        kind=stored.kind,
        expires=stored.expires_at,
        agent=stored.agent,
        conversation=stored.conversation,
        step=stored.step,
        asker=stored.asker,
        people=people(stored, approvers),
        expected=stored.expected,
        card="\n".join(lines(stored)),
        decided_by=stored.decided_by,
        took_effect=_took_effect(stored),
    )


def _took_effect(stored: Stored) -> bool | None:
    """Return what a person said became of an interrupted call; None of anything else."""
    said = stored.kind == "outcome" and stored.status == "answered"
    return stored.answer == TOOK_EFFECT if said else None


def may_decide(stored: Stored, by: str, approvers: Sequence[str]) -> bool:
    """Whether a person may settle a request."""
    if not by:
        return False
    if by == stored.assignee or by in approvers:
        return True
    return by == stored.asker and (stored.asker_decides or stored.kind in ANSWERED)


def people(stored: Stored, approvers: Sequence[str]) -> tuple[str, ...]:
    """Return who may settle a request."""
    known = dict.fromkeys((stored.assignee, *approvers, stored.asker))
    return tuple(each for each in known if may_decide(stored, each, approvers))


def decided_args(stored: Stored, args: Json) -> Json:
    """Return the arguments that a decision is about: those that were asked about, or edited ones as they run.

    Raises:
        ConfigError: edited ones are none that the action takes; says what was expected.
    """
    schema = (stored.expected.get("properties") or {}).get("args")
    if args is None or schema is None:  # an action that nobody knew when a person was asked takes anything
        return stored.args if args is None else args
    checked = check_arguments(Action(stored.action, "", schema, _nothing), args)
    if isinstance(checked, ActionResult):
        what = checked.message.removeprefix(f"{stored.action} was not run: ")
        raise ConfigError([Problem("args", f"{what}; nothing is decided")])
    return checked


async def _nothing(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
    del args, ctx
    return ActionResult()


async def find(tx: Tx, request_id: str, agent: str) -> Stored | None:
    """Return a request of an agent; None if there is none."""
    query = requests().where(request.c.id == request_id, request.c.agent == agent)
    rows = await tx.all(query)
    return load(rows[0]._mapping) if rows else None  # noqa: SLF001  (SQLAlchemy's public name for it)


async def refuse(tx: Tx, wanted: Wanted, stored: Stored | None, why: str, now: datetime) -> None:
    """Record an attempt that is refused."""
    values = {
        "conversation_id": stored.conversation if stored else None,
        "request_id": clean_text(wanted.id)[:_KEPT],
        "tried_by": clean_text(wanted.by)[:_KEPT],
        "wanted": wanted.what,
        "reason": why,
        "at": now,
    }
    await tx.exec(insert(attempt).values(**values))


def refusal(wanted: Wanted, stored: Stored | None, approvers: Sequence[str], now: datetime) -> str:
    """Return why a wish is refused; empty if it is not."""
    if stored is None:
        return "there is no such request"
    answered = stored.kind in ANSWERED
    reasons = {
        "not this person's to decide": not may_decide(stored, wanted.by, approvers),
        f"already {stored.status}": stored.status != "pending",
        "its time is over": stored.expires_at is not None and now >= stored.expires_at,
        "an answer is no approval": wanted.what == "answer" and not answered,
        "it is answered, not approved": wanted.what == "approve" and answered,
        "it is answered, not rejected": wanted.what == "reject" and stored.kind == "outcome",
        "the stored arguments are not those that were asked about": digest(canonical(stored.args))
        != stored.digest,
        "the edited arguments are no object": not isinstance(wanted.args, Mapping | None),
        "only an approver adds rules": wanted.rule is not None and wanted.by not in approvers,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


async def claim(tx: Tx, stored: Stored, wanted: Wanted, status: str, now: datetime) -> Stored | None:
    """Settle a pending request by compare-and-swap; None if somebody was faster."""
    args = None if wanted.args is None else clean(dict(wanted.args))
    values: dict[str, Json] = {
        "status": status,
        "decided_by": clean_text(wanted.by),
        "decided_at": now,
        "decided_args": None if args is None else canonical(args),
        "answer": canonical(clean(wanted.answer)) if wanted.what == "answer" else None,
    }
    pending = update(request).where(request.c.id == stored.id, request.c.status == "pending")
    if await tx.exec(pending.values(**values)) != 1:
        return None
    answer = wanted.answer if wanted.what == "answer" else None
    return evolve(stored, status=status, decided_by=clean_text(wanted.by), decided_args=args, answer=answer)
