"""The plugin: stores what waits for people, settles it once, and asks people questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from attrs import evolve
from sqlalchemy import insert, select, update

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
)
from wakeful_policy.approvals.added import checked, loaded, of_agent, state_of
from wakeful_policy.approvals.asked import NAME, columns, outcome_of, request_of
from wakeful_policy.approvals.deciding import (
    Wanted,
    claim,
    decided_args,
    find,
    people,
    public,
    refusal,
    refuse,
)
from wakeful_policy.approvals.questions import ask_person, fitting
from wakeful_policy.approvals.settings import ApprovalsSettings
from wakeful_policy.approvals.tables import LINEAGE, Stored, load, request, requests, rule, told

#: Requests that a channel is given at once.
NEWS = 100


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
        self._rules: tuple[tuple[Json, ...], tuple[Json, ...]] = ((), ())

    @hookimpl
    def store_tables(self) -> Sequence[Lineage]:
        """Requests, attempts that were refused, rules that were added, what was told."""
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
        if not people(stored, self._approvers):
            raise LookupError(f"nobody may decide it; name approvers of the agent {run.agent.name!r}")
        await tx.exec(insert(request).values(**columns(stored)))
        return public(stored, self._approvers)

    async def unknown(self, tx: Tx, run: Run, inv: Invocation) -> ApprovalRequest:
        """Store a request to find out whether an interrupted call took effect."""
        stored = outcome_of(self._request(run, inv, Judgement(Verdict.ALLOW)))
        await tx.exec(insert(request).values(**columns(stored)))
        return public(stored, self._approvers)

    async def pending(self, run_id: str) -> Sequence[ApprovalRequest]:
        """Return the undecided requests of a run of this agent, oldest first; of all runs for an empty id."""
        query = requests().where(request.c.status == "pending", request.c.agent == self._agent)
        if run_id:
            query = query.where(request.c.run_id == run_id)
        return self._public(await self._services.read(query))

    async def settle(
        self, tx: Tx, request_id: str, *, yes: bool, by: str, args: Json = None, rule: Json = None
    ) -> ApprovalRequest | None:
        """Approve or reject once, perhaps with a rule about later calls; what is refused is recorded.

        Raises:
            ConfigError: the rule is none, or does not match the call; or edited arguments are none that
                the action takes.
        """
        wanted = Wanted(request_id, "approve" if yes else "reject", by, args, rule=rule)
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
        ended = await claim(tx, stored, Wanted(request_id, "expire", ""), "expired", now)
        return None if ended is None else public(ended, self._approvers)

    async def void(self, tx: Tx, request_id: str) -> ApprovalRequest | None:
        """End a request whose run has ended without it."""
        stored, now = await find(tx, request_id, self._agent), self._services.clock.now()
        ended = stored and await claim(tx, stored, Wanted(request_id, "void", ""), "void", now)
        return public(ended, self._approvers) if ended else None

    async def rules(self) -> Sequence[Json]:
        """Return the rules that people have added, read again only when they have changed."""
        state = tuple((await self._services.read(state_of(self._agent)))[0])
        if state != self._rules[0]:
            rows = await self._services.read(of_agent(self._agent)) if state[0] else ()
            self._rules = (state, loaded(rows))
        return self._rules[1]

    async def news(self, channel: str) -> Sequence[ApprovalRequest]:
        """Return what a channel has yet to tell people: what was settled, then what is new, oldest first."""
        mine = requests().where(request.c.agent == self._agent).limit(NEWS)
        known = select(told.c.request_id).where(told.c.channel == channel)
        new = mine.where(request.c.status == "pending", request.c.id.not_in(known))
        # Those that were told while they were undecided are few, whatever has been asked in all the years.
        open_ = known.where(told.c.status == "pending")
        settled = mine.where(request.c.status != "pending", request.c.id.in_(open_))
        rows = [*await self._services.read(settled), *await self._services.read(new)]
        return self._public(rows)

    async def told(self, tx: Tx, channel: str, request: ApprovalRequest) -> None:
        """Store that a channel has told people of a request."""
        values = {"status": request.status, "at": self._services.clock.now()}
        mine = (told.c.channel == channel, told.c.request_id == request.id)
        if not await tx.exec(update(told).where(*mine).values(**values)):
            await tx.exec(insert(told).values(channel=channel, request_id=request.id, **values))

    # ---- inside
    def _public(self, rows: Sequence[Any]) -> list[ApprovalRequest]:
        return [public(load(row._mapping), self._approvers) for row in rows]  # noqa: SLF001  (public in SQLAlchemy)

    async def _settle(self, tx: Tx, wanted: Wanted, status: str) -> ApprovalRequest | None:
        now, stored = self._services.clock.now(), await find(tx, wanted.id, self._agent)
        why = refusal(wanted, stored, self._approvers, now)
        if not why and stored is not None:
            if wanted.what == "answer":
                wanted = evolve(wanted, answer=fitting(stored.expected, wanted.answer))
            args, added = decided_args(stored, wanted.args), None
            if wanted.args is not None:
                wanted = evolve(wanted, args=args)
            if wanted.rule is not None:
                added = checked(wanted.rule, wanted.what, stored, args)
            settled = await claim(tx, stored, wanted, status, now)
            if settled is not None:
                if added is not None:
                    await self._add(tx, settled, added)
                return public(settled, self._approvers)
            why = "decided by somebody else at the same moment"
        await refuse(tx, wanted, stored, why, now)
        return None

    async def _add(self, tx: Tx, stored: Stored, added: Json) -> None:
        values = {
            "agent": stored.agent,
            "rule": canonical(clean(added)),
            "request_id": stored.id,
            "added_by": clean_text(stored.decided_by),
            "added_at": self._services.clock.now(),
        }
        await tx.exec(insert(rule).values(**values))

    def _request(self, run: Run, inv: Invocation, judgement: Judgement) -> Stored:
        action = self._services.catalogue(run).get(inv.action)
        id_, now = self._services.ids.new("ask"), self._services.clock.now()
        return request_of(run, inv, judgement, action, id_=id_, now=now, days=self._settings.expires_days)

    async def _answered(self, key: str) -> tuple[str, Json] | None:
        c = request.c
        query = select(c.decided_by, c.answer).where(c.key == key, c.kind == "question")
        rows = await self._services.read(query.where(c.status == "answered"))
        return (rows[0].decided_by, json.loads(rows[0].answer)) if rows else None
