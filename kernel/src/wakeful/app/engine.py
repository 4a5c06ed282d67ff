"""From wake-ups to runs: what a work item of a conversation makes happen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from attrs import define, evolve, field
from sqlalchemy import Connection

from wakeful.app.desk import Desk, Input, begun, take
from wakeful.app.due import Left, gone_on, next_due, stored_answer, waits
from wakeful.app.execution import Execution, First
from wakeful.app.given import checked_options
from wakeful.app.items import cancelling, item_of, withdrawn
from wakeful.app.plugins import Ambient
from wakeful.app.references import meant_by
from wakeful.app.runs import Runs, Waiter
from wakeful.loop.agent import BuiltAgent
from wakeful.loop.below import over
from wakeful.loop.changes import with_changes
from wakeful.loop.decisions import asked_by, decide
from wakeful.loop.late import carry_out
from wakeful.loop.live import EmitEvent
from wakeful.loop.opening import Opened, Opening, open_turn
from wakeful.loop.recover import give_up
from wakeful.loop.stored import take_up
from wakeful.store.engine import Store
from wakeful.types import (
    ActionChange,
    Answer,
    Answers,
    Claim,
    ConversationBusyError,
    FencedError,
    Handler,
    Json,
    NotAvailableError,
    Priority,
    Run,
    RunStatus,
    StoreError,
    WorkItem,
    WorkRuntime,
    WorkStatus,
)
from wakeful.waiting import first, outlast

#: Seconds between looks at a run that another process may be executing.
LOOK_S = 1.0


@define(eq=False)
class Engine:
    """Executes the work items of conversations, and waits for runs wherever they are executed.

    Args:
        store, ambient, runtime: where, by which clock, and by what.
        agent: finds an agent by name; raises what is wrong with it.
    """

    store: Store
    ambient: Ambient
    runtime: WorkRuntime
    agent: Callable[[str], BuiltAgent]
    runs: Runs = field(factory=Runs)
    desk: Desk = field(init=False)
    closed: bool = False
    execution: Execution = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.desk = Desk(self.store, self.runtime, self.ambient.clock.now)
        self.execution = Execution(self.store, self.ambient, self.runs, self.desk, self.agent, self.cancel)

    def handlers(self) -> Mapping[str, Handler]:
        """Return what to do with each kind of item."""
        return {"run": self._handle, "resume": self._handle, "expire": self._expire}

    # ---- asking for runs
    def options(
        self, name: str, options: Mapping[str, Mapping[str, Json]] | None, changes: Sequence[ActionChange]
    ) -> Mapping[str, Mapping[str, Json]]:
        """Return what holds for one run of an agent, with the changes of its actions.

        Raises:
            ConfigError: a plugin cannot use what it is given, or a change cannot be made.
        """
        agent, find = self.agent(name), partial(meant_by, self.ambient.folder)
        return with_changes(agent, checked_options(agent, options), changes, find)

    async def turn(self, given: Input, emit: EmitEvent) -> Answer:
        """Store an input and return the answer of its run."""
        item = WorkItem(
            item_of(given.run_id), "run", given.conversation, {"run": given.run_id}, Priority.INTERACTIVE
        )
        return await self._await(given.run_id, Waiter(emit, item.id), partial(self.desk.put, given, item))

    async def resume(self, run_id: str, conversation: str, emit: EmitEvent) -> Answer:
        """Wake a run up and return its answer."""
        item_id = self.ambient.ids.new("resume")
        item = WorkItem(item_id, "resume", conversation, {"run": run_id}, Priority.RESUME)
        return await self._await(run_id, Waiter(emit, item_id), partial(self.runtime.submit, item))

    async def _await(self, run_id: str, waiter: Waiter, begin: Callable[[], Awaitable[object]]) -> Answer:
        if self.closed:
            raise NotAvailableError("the application is closed")
        self.runs.waiters.setdefault(run_id, []).append(waiter)
        try:
            await begin()
            return await self._answer(run_id, waiter)
        except asyncio.CancelledError:
            await outlast(self._cancelled(run_id, waiter))
            raise
        finally:
            waiters = self.runs.waiters[run_id]
            waiters.remove(waiter)
            if not waiters:
                del self.runs.waiters[run_id]

    async def _answer(self, run_id: str, waiter: Waiter) -> Answer:
        """Wait for the answer; another process may be the one that stores it."""
        while True:
            await first(self.ambient.clock, LOOK_S, waiter.answer)
            if waiter.answer.done():
                return waiter.answer.result()
            if run_id not in self.runs.lives:
                try:
                    await self._look(run_id, waiter)
                except StoreError as error:
                    raise _goes_on(run_id, error) from error

    async def _look(self, run_id: str, waiter: Waiter) -> None:
        """See whether the item has ended elsewhere, and with what."""
        status = await self.runtime.status(waiter.item)
        if status is WorkStatus.FAILED:
            waiter.fail(NotAvailableError(f"run {run_id} failed on every attempt; see 'wakeful doctor'"))
        elif status is None or status.ended:
            answer = await self.store.read(lambda conn: stored_answer(conn, run_id))
            if answer is not None or not await self.store.read(lambda conn: waits(conn, run_id)):
                waiter.tell(answer or withdrawn(run_id, ""))

    async def _cancelled(self, run_id: str, waiter: Waiter) -> None:
        """End a run whose caller went away, and wait for its end; one that waits for a person waits on."""
        await self.cancel(run_id, parked=False)
        task = self.runs.tasks.get(run_id)
        if task is not None:
            await asyncio.wait({task, waiter.answer}, return_when=asyncio.FIRST_COMPLETED)
        if waiter.answer.done() and not waiter.answer.cancelled():
            waiter.answer.exception()

    async def cancel(self, run_id: str, *, parked: bool = True) -> bool:
        """End a run as cancelled, wherever it is; False if it has ended or is unknown.

        Args:
            run_id: the run.
            parked: whether to end one that waits for a person.
        """
        if self.runs.cancel(run_id):
            return True
        if await self.desk.withdraw(run_id):
            await self.runtime.cancel(item_of(run_id))
            self.runs.tell(run_id, withdrawn(run_id, ""))
            return True
        found = await self.store.read(lambda conn: begun(conn, run_id))
        if found is None or not (found.status is RunStatus.RUNNING or (parked and found.status.parked)):
            return False
        if self.runs.cancel(run_id):
            return True
        payload, key = {"run": run_id, "cancel": True}, found.conversation
        await self.runtime.submit(WorkItem(cancelling(run_id), "resume", key, payload, Priority.INTERACTIVE))
        # Whoever executes the run hears of it; if nobody does, the item that was just submitted ends it.
        holder = found.holder
        if found.status is RunStatus.RUNNING and (holder is None or not holder.payload.get("cancel")):
            await self.runtime.cancel(holder.id if holder else item_of(run_id))
            if (
                holder is not None and holder.payload["run"] != run_id
            ):  # a wake-up that was in the middle of it
                await self.runtime.submit(evolve(holder, id=f"again:{holder.id}"))
        return True

    async def _expire(self, claim: Claim) -> None:
        """End a request whose time is over and wake its run; nothing, if it is decided."""
        request_id = claim.item.payload["request"]
        slot = self.agent(await self.store.read(lambda conn: asked_by(conn, request_id))).approvals
        if isinstance(slot, Answers):
            with suppress(NotAvailableError):  # its run has ended
                await decide(self.store, partial(slot.expire, request_id=request_id), self.desk.wake)
                await self.desk.send()

    # ---- executing them
    async def _handle(self, claim: Claim) -> None:
        """Do whatever there is to do in a conversation, until the item's own run has been seen to."""
        item, run_id = claim.item, claim.item.payload["run"]
        seen: set[str] = set()
        try:
            while True:
                due = await self.store.read(lambda conn: next_due(conn, item))
                if not isinstance(due, Input | Left):
                    break
                if not await self._complete(due, claim):
                    return  # it goes on elsewhere; whoever waits here will see its end in the database
                seen.add(due.run_id)
                if item.kind == "run" and due.run_id == run_id:
                    return  # whoever waits has been told
        except asyncio.CancelledError:
            if run_id in seen and self.closed:
                return  # the item's own run has ended: there is nothing to give back
            raise
        if due is not None:
            self.runs.tell(run_id, due, item.id)

    async def _complete(self, due: Input | Left, claim: Claim) -> bool:
        """Execute a run; tell who waits how it ended, or what went wrong in this process.

        Returns:
            False if another process has taken the run or the item over.
        """
        inside = self.runs.inside(due.run_id)
        if inside is not None:  # a part of another run of this process: what wants it ended ends it there
            inside.cancel()
            await asyncio.wait({inside})
            return True
        try:
            work, meant = self._execute(due, claim), partial(self._cancels, claim, due.run_id)
            answer = await self.runs.complete(due.run_id, work, meant)
        except FencedError:
            return False
        except ConversationBusyError:
            raise  # for a moment, until who lost its lease to this process has noticed; it is tried again
        except StoreError as error:
            self.runs.fail(due.run_id, _goes_on(due.run_id, error))
            raise
        except Exception as error:
            self.runs.fail(due.run_id, error)
            raise
        self.runs.tell(due.run_id, answer, claim.item.id)
        return True

    async def _cancels(self, claim: Claim, run_id: str) -> bool:
        """Return whether the interruption of an item means that its run is to end as cancelled.

        If not, the lease was lost: the run is somebody else's now, or nobody can tell.
        """
        if self.closed:
            return bool(self.runs.waiters.get(run_id))
        try:
            status = await self.runtime.status(claim.item.id)
        except StoreError:
            return False
        return status in {WorkStatus.CANCELLING, WorkStatus.CANCELLED}

    def _execute(self, due: Input | Left, claim: Claim) -> Coroutine[Any, Any, Answer]:
        if isinstance(due, Input):
            return self._open_and_drive(due, claim)
        if due.over:
            return self.execution.drafts(due, claim)
        return self._take_up_and_drive(due, claim)

    async def _open_and_drive(self, given: Input, claim: Claim) -> Answer:
        agent = self.agent(given.agent)
        now, secret, of = self.ambient.clock.now(), self.ambient.ids.secret(), given
        opening = Opening(of.run_id, of.conversation, of.user, of.text, secret, now, of.options)

        def begin(conn: Connection) -> Opened | None:
            self.desk.hold(conn, claim)
            return open_turn(conn, agent, opening) if take(conn, given.run_id) else None

        opened, cancelled = await outlast(self.store.write(begin))
        if opened is None:
            return withdrawn(given.run_id, given.conversation)
        return await self.execution.opened(agent, opened, cancelled=cancelled)

    async def _take_up_and_drive(self, left: Left, claim: Claim) -> Answer:
        agent = self.agent(left.agent)
        (view, then), cancelled = await outlast(self._take_up(agent, left, claim))
        if isinstance(view, Answer):
            return view
        return await self.execution.taken_up(agent, view, then, cancelled=cancelled)

    async def _take_up(self, agent: BuiltAgent, left: Left, claim: Claim) -> tuple[Run | Answer, First]:
        """Make a run this process's own; return it, and what comes first."""
        run_id, now = left.run_id, self.ambient.clock.now()

        def begin(conn: Connection) -> Run | Answer:
            self.desk.hold(conn, claim)
            return gone_on(conn, left, claim.item) or take_up(conn, agent, run_id, now)

        unwanted = await self.runtime.status(cancelling(run_id)) is not None
        view = await self.store.write(begin)
        if isinstance(view, Run) and view.parent:  # perhaps nobody is left to hear its answer
            unwanted = unwanted or await self.store.read(partial(over, run_id=view.parent))
        if unwanted:
            return view, give_up
        return view, carry_out if left.parked else self.execution.recover

    async def close(self) -> None:
        """Stop claiming; end as cancelled what somebody here waits for, give everything else back."""
        self.closed = True
        self.runs.abandon()
        await self.runtime.stop(drain=False)
        for run_id, waiters in list(self.runs.waiters.items()):
            answer = await self.store.read(partial(stored_answer, run_id=run_id))
            for waiter in waiters:
                if answer is not None:
                    waiter.tell(answer)
                else:
                    waiter.fail(NotAvailableError("the application is closed"))


def _goes_on(run_id: str, error: StoreError) -> StoreError:
    """Return the error for who waits for a run that is tried again once the database can be used."""
    return StoreError(
        f"{error}; run {run_id} is tried again by itself: wait for it with `wakeful runs resume {run_id}`"
    )
