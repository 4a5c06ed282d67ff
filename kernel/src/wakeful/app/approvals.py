"""``app.approvals``: the requests that wait for people, whichever plugin stores them."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from functools import partial

from attrs import frozen
from sqlalchemy import select

from wakeful.app.desk import Desk
from wakeful.loop.agent import BuiltAgent
from wakeful.loop.decisions import Settle, asked_by, decide, expiring, gone, left_behind, over_with
from wakeful.store.engine import Store
from wakeful.store.tables import run
from wakeful.types import (
    Answers,
    ApprovalRequest,
    Approvals,
    Clock,
    Json,
    KeepsRules,
    NotAvailableError,
    NotFoundError,
    Notices,
    RunStatus,
    StoreError,
    Voids,
    nearest,
)

log = logging.getLogger("wakeful")

#: Seconds between looks for what channels have yet to tell; another process may have stored it.
NEWS_S = 1.0


@frozen
class ApprovalDesk:
    """Lists and settles requests over the approvals slots of all agents."""

    agents: Mapping[str, BuiltAgent]
    store: Store
    desk: Desk
    clock: Clock

    async def list(self, run_id: str = "") -> tuple[ApprovalRequest, ...]:
        """Return the undecided requests of a run, or of all runs.

        What a run waited for is gone when it ends; a draft only if the run was cancelled.

        Raises:
            NotAvailableError: no agent has a plugin that stores approvals.
        """
        found: dict[str, ApprovalRequest] = {}
        for slot in self._slots():
            for request in await slot.pending(run_id):
                found[request.id] = request
        runs = {request.run for request in found.values()}
        query = select(run.c.id, run.c.status).where(run.c.id.in_(runs))
        rows = await self.store.read(lambda conn: conn.execute(query).all())
        statuses = {row.id: RunStatus(row.status) for row in rows}
        return tuple(each for each in found.values() if not gone(each, statuses[each.run]))

    async def news(self, channel: str) -> AsyncGenerator[ApprovalRequest, None]:
        """Yield, for ever, what a channel has yet to tell people: new requests, and settled ones it told of.

        What is asked while no process of the channel runs waits in the database. That a request was told is
        stored when the loop comes back for the next one, so that a channel whose process ends before tells it
        again: at least once. Leave the loop to stop.

        Args:
            channel: its lasting name, such as ``slack``; each has a memory of its own.

        Raises:
            NotAvailableError: no agent has a plugin that stores approvals and remembers what was told.
        """
        slots = [slot for slot in self._slots() if isinstance(slot, Notices)]
        if not slots:
            raise NotAvailableError("the plugin that stores approvals does not remember what was told")
        while True:
            for slot in slots:
                for request in await slot.news(channel):
                    yield request
                    async with self.store.transaction() as tx:
                        await slot.told(tx, channel, request)
            await self.clock.sleep(NEWS_S)

    async def approve(
        self, request_id: str, *, by: str, args: Json = None, rule: Json = None
    ) -> ApprovalRequest:
        """Allow a held call, perhaps with other arguments; its run wakes up and carries it out.

        A draft of a run that has ended is carried out as well; the model hears of it in the next turn.

        Args:
            request_id: of the request.
            by: who approves.
            args: other arguments; they are judged again.
            rule: a rule about later calls of the same action, as it would stand in the file.

        Raises:
            NotFoundError: unknown, decided already, or not this person's to decide.
            NotAvailableError: its run has ended, or the plugin keeps no rules.
            ConfigError: the rule is none; nothing is decided.
        """
        return await self._decide(request_id, yes=True, by=by, args=args, rule=rule)

    async def reject(self, request_id: str, *, by: str, rule: Json = None) -> ApprovalRequest:
        """Refuse a held call; its run wakes up and tells the model. Arguments and errors as above."""
        return await self._decide(request_id, yes=False, by=by, rule=rule)

    async def answer(self, request_id: str, *, by: str, answer: Json) -> ApprovalRequest:
        """Answer what an agent has asked people; never an approval.

        Args:
            request_id: of a question, or of a call whose outcome nobody knows.
            by: who answers.
            answer: what the question asks for.

        Raises:
            NotFoundError: unknown, no question, answered already, or not this person's to answer.
            NotAvailableError: its run has ended, or the plugin takes no answers.
        """
        slot = await self._slot_of(request_id)
        if not isinstance(slot, Answers):
            raise NotAvailableError("the plugin that stores approvals takes no answers")
        answering = partial(slot.answer, request_id=request_id, by=by, answer=answer)
        return await self._settle(request_id, by, answering)

    async def _decide(
        self, request_id: str, *, yes: bool, by: str, args: Json = None, rule: Json = None
    ) -> ApprovalRequest:
        slot = await self._slot_of(request_id)
        settle: Settle = partial(slot.settle, request_id=request_id, yes=yes, by=by, args=args)
        if rule is not None:
            if not isinstance(slot, KeepsRules):
                raise NotAvailableError("the plugin that stores approvals keeps no rules")
            settle = partial(slot.settle, request_id=request_id, yes=yes, by=by, args=args, rule=rule)
        return await self._settle(request_id, by, settle)

    async def _settle(self, request_id: str, by: str, settle: Settle) -> ApprovalRequest:
        over = await self._over(await self._slot_of(request_id), request_id)
        request = await decide(self.store, settle, self.desk.wake)
        if request is not None:
            await self.desk.send()
            if request.expires is not None:
                await self.desk.runtime.cancel(expiring(request.id))
            return request
        if over:
            raise NotAvailableError(over)
        await self._expire(await self._slot_of(request_id), request_id)
        open_ids = [request.id for request in await self.list()]
        if request_id in open_ids:
            raise NotFoundError(f"request {request_id!r} is not for {by!r} to decide, or not in this way")
        msg = f"request {request_id!r} is unknown, already decided, or not for {by!r} to decide"
        known = request_id in open_ids
        raise NotFoundError(f"{msg} in this way" if known else msg + nearest(request_id, open_ids))

    async def _expire(self, slot: Approvals, request_id: str) -> None:
        """End a request if its time is over, and wake its run."""
        if isinstance(slot, Answers):
            with suppress(NotAvailableError):  # its run has ended
                await decide(self.store, partial(slot.expire, request_id=request_id), self.desk.wake)
                await self.desk.send()

    async def _over(self, slot: Approvals, request_id: str) -> str:
        """End a request if its run has ended without it; return what happened, empty if it has not."""
        why = await self.store.read(lambda conn: over_with(conn, request_id))
        if why and isinstance(slot, Voids):
            async with self.store.transaction() as tx:
                await slot.void(tx, request_id)
        return why

    async def catch_up(self) -> None:
        """See to what was due while no plugin was there for it: requests that are over, decisions."""
        slots = {name: agent.approvals for name, agent in self.agents.items() if agent.approvals is not None}
        if not slots:
            return
        for slot in slots.values():
            try:
                await self._end_overdue(slot)
            except StoreError:
                raise
            except Exception:  # whatever a plugin raises, the others start
                log.exception("what is due of the requests for people could not be seen to")
        items = await self.store.read(lambda conn: left_behind(conn, tuple(slots)))
        for item in items:
            await self.desk.runtime.submit(item)

    async def _end_overdue(self, slot: Approvals) -> None:
        now = self.clock.now()
        for request in await slot.pending(""):
            over = await self._over(slot, request.id)
            if request.expires is None or request.expires > now:
                continue
            if not over:
                await self._expire(slot, request.id)
            await self.desk.bury(expiring(request.id))  # its agent may have been away when its time came

    async def _slot_of(self, request_id: str) -> Approvals:
        """Return what stores the requests of the agent that a request is of; any if it is unknown."""
        slots = self._slots()
        name = await self.store.read(lambda conn: asked_by(conn, request_id))
        if not name:  # it holds no call, or is unknown
            waiting = {each.id: each.run for slot in slots for each in await slot.pending("")}
            query = select(run.c.agent).where(run.c.id == waiting.get(request_id, ""))
            name = await self.store.read(lambda conn: str(conn.execute(query).scalar() or ""))
        agent = self.agents.get(name)
        return slots[0] if agent is None or agent.approvals is None else agent.approvals

    def _slots(self) -> tuple[Approvals, ...]:
        slots = tuple(agent.approvals for agent in self.agents.values() if agent.approvals is not None)
        if not slots:
            msg = "no agent has a plugin that stores approvals; enable one that fills policy_approvals"
            raise NotAvailableError(msg)
        return slots
