"""The plugin: stores what waits for people, settles it once, and asks people questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from attrs import evolve
from sqlalchemy import insert, select

from wakeful.hookspecs import hookimpl
from wakeful.types import (
    Action,
    AgentView,
    ApprovalRequest,
    Approvals,
    Invocation,
    Json,
    Judgement,
    Lineage,
    Run,
    Services,
    Tx,
    Verdict,
    canonical,
    clean,
    clean_text,
    digest,
)
from wakeful_policy.approvals.deciding import (
    Wanted,
    claim,
    find,
    nobody,
    refusal,
    refuse,
)
from wakeful_policy.approvals.origins import origins
from wakeful_policy.approvals.questions import ASK, OUTCOME, ask_person, expected, fitting
from wakeful_policy.approvals.settings import ApprovalsSettings
from wakeful_policy.approvals.tables import LINEAGE, Stored, load, request, requests

#: Owner of the action that asks people.
NAME: Final = "approvals"


class ApprovalsPlugin:
    """Keeps requests in its own tables.

    Args:
        settings: see :class:`ApprovalsSettings`.
        services: what the kernel does for the plugin.
    """

    Settings = ApprovalsSettings

    def __init__(self, settings: ApprovalsSettings, services: Services) -> None:
        self._settings, self._services = settings, services
        self._agent, self._approvers = "", tuple[str, ...]()

    @hookimpl
    def store_tables(self) -> Sequence[Lineage]:
        """Requests, and attempts that were refused."""
        return (LINEAGE,)

    @hookimpl
    def policy_approvals(self, agent: AgentView) -> Approvals:
        """Store and settle the agent's requests."""
        self._agent, self._approvers = agent.name, agent.approvers
        return self

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Let the agent ask people."""
        return (ask_person(self._answered, NAME),) if self._settings.ask else ()

    # ---- the slot
    async def ask(self, tx: Tx, run: Run, inv: Invocation, judgement: Judgement) -> ApprovalRequest:
        """Store a request.

        Raises:
            LookupError: there is nobody who could decide it.
            DeclarationError: a question's schema is none.
        """
        stored = self._request(run, inv, judgement)
        if nobody(stored, self._approvers):
            raise LookupError(f"nobody may decide it; name approvers of the agent {run.agent.name!r}")
        await tx.exec(insert(request).values(**columns(stored)))
        return stored.public()

    async def pending(self, run_id: str) -> Sequence[ApprovalRequest]:
        """Return the undecided requests of a run of this agent, oldest first; of all runs for an empty id."""
        query = requests().where(request.c.status == "pending", request.c.agent == self._agent)
        if run_id:
            query = query.where(request.c.run_id == run_id)
        rows = await self._services.read(query)
        return [load(row._mapping).public() for row in rows]  # noqa: SLF001  (public in SQLAlchemy)

    async def settle(
        self, tx: Tx, request_id: str, *, yes: bool, by: str, args: Json = None
    ) -> ApprovalRequest | None:
        """Approve or reject once; what is refused is recorded."""
        wanted = Wanted(request_id, "approve" if yes else "reject", by, args)
        return await self._settle(tx, wanted, "approved" if yes else "rejected")

    async def answer(self, tx: Tx, request_id: str, *, by: str, answer: Json) -> ApprovalRequest | None:
        """Answer a question, or say what became of a call, once; what is refused is recorded.

        Raises:
            ConfigError: the answer is not of the kind that was asked for.
        """
        return await self._settle(tx, Wanted(request_id, "answer", by, answer=answer), "answered")

    async def expire(self, tx: Tx, request_id: str) -> ApprovalRequest | None:
        """End a request whose time is over."""
        stored, now = await find(tx, request_id, self._agent), self._services.clock.now()
        if stored is None or stored.expires_at is None or now < stored.expires_at:
            return None
        return await claim(tx, stored, Wanted(request_id, "expire", ""), "expired", now)

    async def unknown(self, tx: Tx, run: Run, inv: Invocation) -> ApprovalRequest:
        """Store a request to find out whether an interrupted call took effect."""
        asked = Judgement(Verdict.ALLOW, "the process ended while it ran: did it take effect?")
        stored = evolve(self._request(run, inv, asked), kind="outcome", expected=OUTCOME, expires_at=None)
        await tx.exec(insert(request).values(**columns(stored)))
        return stored.public()

    # ---- inside
    async def _settle(self, tx: Tx, wanted: Wanted, status: str) -> ApprovalRequest | None:
        now, stored = self._services.clock.now(), await find(tx, wanted.id, self._agent)
        why = refusal(wanted, stored, self._approvers, now)
        if not why and stored is not None:
            if wanted.what == "answer":
                wanted = evolve(wanted, answer=fitting(stored.expected, wanted.answer))
            settled = await claim(tx, stored, wanted, status, now)
            if settled is not None:
                return settled
            why = "decided by somebody else at the same moment"
        await refuse(tx, wanted, stored, why, now)
        return None

    def _request(self, run: Run, inv: Invocation, judgement: Judgement) -> Stored:
        action = self._services.catalogue(run).get(inv.action)
        question = action is not None and action.owner == NAME and inv.action == ASK
        kind = "draft" if judgement.verdict is Verdict.STAGE else "approval"
        schema: Json = {"type": "object", "properties": {"decision": {"enum": ["approve", "reject"]}}}
        if question:
            kind, schema = "question", expected(inv.args)
            fitting({"anyOf": [schema, {}]}, "")  # a schema that is none is the asker's mistake, now
        elif action is not None:
            schema["properties"]["args"] = action.schema
        days, now = self._settings.expires_days, self._services.clock.now()
        args = clean(inv.args)
        return Stored(
            number=0,
            id=self._services.ids.new("ask"),
            conversation=run.conversation,
            run=run.id,
            step=run.step,
            key=inv.key,
            kind=kind,
            agent=run.agent.name,
            asker=run.user,
            action=inv.action,
            args=args,
            digest=digest(canonical(args)),
            reason=clean_text(judgement.reason),
            basis=judgement.basis,
            provenance=origins(run, inv),
            expected=schema,
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

    async def _answered(self, key: str) -> tuple[str, Json] | None:
        c = request.c
        query = select(c.decided_by, c.answer).where(c.key == key, c.kind == "question")
        rows = await self._services.read(query.where(c.status == "answered"))
        return (rows[0].decided_by, json.loads(rows[0].answer)) if rows else None


def columns(stored: Stored) -> dict[str, Json]:
    """Return the row of a new request."""
    names = (
        *("id", "step", "key", "kind", "agent", "asker", "action", "digest", "reason", "basis"),
        *("priority", "assignee", "asker_decides", "status", "created_at", "expires_at"),
    )
    texts = {name: canonical(clean(getattr(stored, name))) for name in ("args", "provenance", "expected")}
    plain = {name: getattr(stored, name) for name in names}
    return {**plain, **texts, "conversation_id": stored.conversation, "run_id": stored.run}
