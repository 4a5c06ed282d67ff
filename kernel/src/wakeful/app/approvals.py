"""``app.approvals``: the requests that wait for people, whichever plugin stores them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen
from sqlalchemy import select

from wakeful.app.desk import Desk
from wakeful.loop.agent import BuiltAgent
from wakeful.loop.late import decide
from wakeful.store.engine import Store
from wakeful.store.tables import run
from wakeful.types import (
    ApprovalRequest,
    Approvals,
    Json,
    NotAvailableError,
    NotFoundError,
    RunStatus,
    nearest,
)


@frozen
class ApprovalDesk:
    """Lists and settles requests over the approvals slots of all agents."""

    agents: Mapping[str, BuiltAgent]
    store: Store
    desk: Desk

    async def list(self, run_id: str = "") -> tuple[ApprovalRequest, ...]:
        """Return the undecided requests of a run, or of all runs; those of runs that have ended are gone.

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
        over = {row.id for row in rows if RunStatus(row.status).ended}
        return tuple(request for request in found.values() if request.run not in over)

    async def approve(self, request_id: str, *, by: str, args: Json = None) -> ApprovalRequest:
        """Allow a held call, perhaps with other arguments; its run wakes up and carries it out.

        Raises:
            NotFoundError: unknown, decided already, or not this person's to decide.
            NotAvailableError: its run has ended.
        """
        return await self._decide(request_id, yes=True, by=by, args=args)

    async def reject(self, request_id: str, *, by: str) -> ApprovalRequest:
        """Refuse a held call; its run wakes up and tells the model.

        Raises:
            NotFoundError: unknown, decided already, or not this person's to decide.
            NotAvailableError: its run has ended.
        """
        return await self._decide(request_id, yes=False, by=by)

    async def _decide(self, request_id: str, *, yes: bool, by: str, args: Json = None) -> ApprovalRequest:
        for slot in self._slots():
            request = await decide(self.store, slot, request_id, self.desk.wake, yes=yes, by=by, args=args)
            if request is not None:
                await self.desk.send()
                return request
        open_ids = [request.id for request in await self.list()]
        msg = f"request {request_id!r} is unknown, already decided, or not for {by!r} to decide"
        raise NotFoundError(msg + nearest(request_id, open_ids))

    def _slots(self) -> tuple[Approvals, ...]:
        slots = tuple(agent.approvals for agent in self.agents.values() if agent.approvals is not None)
        if not slots:
            msg = "no agent has a plugin that stores approvals; enable one that fills policy_approvals"
            raise NotAvailableError(msg)
        return slots
