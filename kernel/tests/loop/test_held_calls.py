"""Calls held for a person: parked, decided, carried out, in this process or the next."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from wakeful import Agent, action, hookimpl
from wakeful.store.tables import plugin_state
from wakeful.store.verify import verify
from wakeful.testing import Database, Gate, ScriptedModel, say, shown
from wakeful.types import (
    ApprovalRequest,
    Invocation,
    Json,
    Judgement,
    NotAvailableError,
    NotFoundError,
    Request,
    Run,
    RunStatus,
    Services,
    Tx,
    Verdict,
    canonical,
    digest,
)

paid: list[int] = []


@action(effect="external", output_trust="trusted", max_executions=2)
async def pay(euros: int) -> str:
    """Pay.

    Args:
        euros: how much.
    """
    paid.append(euros)
    return f"paid {euros}"


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


class Careful:
    """Holds payments over 10 and denies those over 1,000; keeps requests in its plugin state."""

    name = "careful"

    def __init__(self, settings: None, services: Services) -> None:
        self.services = services

    @hookimpl
    def policy_verdict(self, proposal: Invocation) -> Judgement | None:
        euros = proposal.args.get("euros", 0)
        if euros > 1000:
            return Judgement(Verdict.DENY, "too much for anybody")
        return Judgement(Verdict.REQUIRE_APPROVAL, "over 10 euros") if euros > 10 else None

    @hookimpl
    def policy_approvals(self) -> Any:
        return self

    async def ask(self, tx: Tx, run: Run, inv: Invocation, judgement: Judgement) -> ApprovalRequest:
        request = ApprovalRequest(
            f"ask-{inv.key}", inv.key, run.id, inv.action, inv.args, digest(canonical(inv.args))
        )
        values = {"conversation_id": run.conversation, "plugin": self.name, "key": request.id}
        stored = canonical([request.key, request.run, request.action, request.args, request.status])
        await tx.exec(insert(plugin_state).values(**values, value=stored))
        return request

    async def pending(self, run_id: str) -> Sequence[ApprovalRequest]:
        query = select(plugin_state.c.key, plugin_state.c.value).where(plugin_state.c.plugin == self.name)
        found = [self._load(*row) for row in await self.services.read(query)]
        return [request for request in found if request.status == "pending" and run_id in {"", request.run}]

    async def settle(
        self, tx: Tx, request_id: str, *, yes: bool, by: str, args: Json = None
    ) -> ApprovalRequest | None:
        where = (plugin_state.c.plugin == self.name) & (plugin_state.c.key == request_id)
        rows = await tx.all(select(plugin_state.c.key, plugin_state.c.value).where(where))
        if not rows or (request := self._load(*rows[0])).status != "pending":
            return None
        status = "approved" if yes else "rejected"
        final = request.args if args is None else args
        await tx.exec(
            update(plugin_state)
            .where(where)
            .values(value=canonical([request.key, request.run, request.action, final, status]))
        )
        return ApprovalRequest(
            request.id, request.key, request.run, request.action, final, digest(canonical(final)), status
        )

    @staticmethod
    def _load(key: str, value: str) -> ApprovalRequest:
        call, run, name, args, status = json.loads(value)
        return ApprovalRequest(key, call, run, name, args, digest(canonical(args)), status)


def agent(*replies: Any, actions: Sequence[Any] = (pay, ping)) -> Agent:
    return Agent(model=ScriptedModel(list(replies)), actions=actions, plugins=[Careful])


def asked(desk: Agent) -> list[Request]:
    """Return what the agent's model was asked."""
    assert isinstance(desk.model, ScriptedModel)
    return desk.model.requests


HELD = say("Let me ask.", calls=["ping", ("pay", {"euros": 50}), ("pay", {"euros": 5})])


async def legal(app: Any) -> list[str]:
    found: list[str] = await app.store.read(lambda conn: [str(problem) for problem in verify(conn)])
    return found


async def test_a_held_call_parks_the_run_and_the_approval_carries_it_out(wakeful_app: Any) -> None:
    desk = agent(HELD, "I have asked.", "It is paid.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay 50", conversation="c")
        assert parked.status is RunStatus.AWAITING_APPROVAL
        assert parked.text == "I have asked."
        assert parked.pending == ("ask-run-1/1/1",)
        assert paid == [5]
        (request,) = await app.approvals.list()
        assert (request.action, request.args) == ("pay", {"euros": 50})
        approved = await app.approvals.approve(request.id, by="ana")
        assert approved.status == "approved"
        assert paid == [5]
        answer = await app.resume(parked.run_id)
        assert (answer.text, answer.status) == ("It is paid.", RunStatus.COMPLETED)
        assert paid == [5, 50]
        assert await legal(app) == []
        assert await app.approvals.list() == ()
    waiting, late = asked(desk)[1].items[-2], asked(desk)[2].items[-1]
    assert "waits for a person's approval: over 10 euros" in shown(waiting)
    assert "A person decided about the call run-1/1/1" in shown(late)
    assert "paid 50" in shown(late)


async def test_an_approval_survives_the_process(wakeful_app: Any, store: Database) -> None:
    async with wakeful_app(agent(HELD, "Asked.")) as app:
        run_id = (await app.send("agent", "Pay", conversation="c")).run_id
    second = agent("All done.")
    async with wakeful_app(second) as app:
        (request,) = await app.approvals.list(run_id)
        await app.approvals.approve(request.id, by="ana")
    third = agent("All done.")
    async with wakeful_app(third) as app:
        answer = await app.resume(run_id)
        assert answer.text == "All done."
        assert paid == [5, 50]
        assert await legal(app) == []
    assert store.rows("select kind from message order by seq")[-2:] == [
        {"kind": "late-result"},
        {"kind": "assistant"},
    ]
    (run,) = store.rows("select status, fence from run")
    assert run == {"status": "completed", "fence": 1}


async def test_a_rejection_reaches_the_model_and_nothing_runs(wakeful_app: Any) -> None:
    desk = agent(HELD, "Asked.", "Understood.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay")
        await app.approvals.reject(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Understood."
        assert await legal(app) == []
    assert paid == [5]
    assert "REJECTED" in shown(asked(desk)[2].items[-1])


async def test_edited_arguments_run_and_are_judged_again(wakeful_app: Any) -> None:
    desk = agent(HELD, "Asked.", "Done.", HELD, "Asked again.", "Done again.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        await app.approvals.approve(parked.pending[0], by="ana", args={"euros": 40})
        await app.resume(parked.run_id)
        assert paid == [5, 40]
        again = await app.send("agent", "Pay", conversation="c")
        await app.approvals.approve(again.pending[0], by="ana", args={"euros": 5000})
        await app.resume(again.run_id)
    assert paid == [5, 40, 5]
    assert "too much for anybody" in shown(asked(desk)[-1].items[-1])


async def test_edited_arguments_are_checked_like_any_other(wakeful_app: Any) -> None:
    desk = agent(HELD, "Asked.", "Done.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay")
        await app.approvals.approve(parked.pending[0], by="ana", args={"cents": 1})
        await app.resume(parked.run_id)
    assert paid == [5]
    assert "UNKNOWN_ARGUMENT" in shown(asked(desk)[-1].items[-1])


async def test_a_request_is_decided_once(wakeful_app: Any) -> None:
    async with wakeful_app(agent(HELD, "Asked.", "Done.")) as app:
        parked = await app.send("agent", "Pay")
        (request_id,) = parked.pending
        outcomes = await asyncio.gather(
            *(app.approvals.approve(request_id, by=f"p{number}") for number in range(10)),
            *(app.approvals.reject(request_id, by=f"q{number}") for number in range(10)),
            return_exceptions=True,
        )
        won = [outcome for outcome in outcomes if isinstance(outcome, ApprovalRequest)]
        assert len(won) == 1
        assert all(isinstance(outcome, NotFoundError) for outcome in outcomes if outcome is not won[0])
        with pytest.raises(NotFoundError, match="already decided"):
            await app.approvals.approve(request_id, by="ana")


async def test_an_unknown_request_names_the_nearest(wakeful_app: Any) -> None:
    async with wakeful_app(agent(HELD, "Asked.")) as app:
        await app.send("agent", "Pay")
        with pytest.raises(NotFoundError, match=r"did you mean 'ask-run-1/1/1'\?"):
            await app.approvals.approve("ask-run-1/1/2", by="ana")


async def test_approvals_without_a_plugin_say_what_is_missing(wakeful_app: Any) -> None:
    async with wakeful_app(Agent(model=ScriptedModel([]))) as app:
        with pytest.raises(NotAvailableError, match="policy_approvals"):
            await app.approvals.list()


async def test_resuming_a_run_that_has_ended_gives_its_answer(wakeful_app: Any) -> None:
    async with wakeful_app(agent("Hi.")) as app:
        answer = await app.send("agent", "Hello")
        again = await app.resume(answer.run_id)
        assert (again.text, again.status) == ("Hi.", RunStatus.COMPLETED)
        with pytest.raises(NotFoundError, match=r"did you mean 'run-1'\?"):
            await app.resume("run-l")


async def test_resuming_before_a_decision_waits_on(wakeful_app: Any) -> None:
    async with wakeful_app(agent(HELD, "Asked.", "Still waiting.")) as app:
        parked = await app.send("agent", "Pay")
        again = await app.resume(parked.run_id)
        assert again.status is RunStatus.AWAITING_APPROVAL
        assert again.pending == parked.pending
    assert paid == [5]


async def test_limits_hold_for_late_calls_too(wakeful_app: Any) -> None:
    calls = [("pay", {"euros": euros}) for euros in (1, 50, 2)]
    desk = agent(say(calls=calls), "Asked.", "Done.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay")
        assert paid == [1, 2]
        await app.approvals.approve(parked.pending[0], by="ana")
        await app.resume(parked.run_id)
    assert paid == [1, 2]
    assert "LIMIT_REACHED" in shown(asked(desk)[-1].items[-1])


async def test_cancelling_a_late_call_records_what_became_of_it(wakeful_app: Any, store: Database) -> None:
    gate = Gate()

    @action(effect="external", output_trust="trusted", tool_name="pay")
    async def pay_slowly(euros: int) -> str:
        """Pay slowly.

        Args:
            euros: how much.
        """
        await gate.wait()
        return "paid"

    desk = agent(say(calls=[("pay", {"euros": 50})]), "Asked.", "never asked", actions=[pay_slowly])
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay")
        await app.approvals.approve(parked.pending[0], by="ana")
        resuming = asyncio.ensure_future(app.resume(parked.run_id))
        await gate.reached()
        await app.cancel(parked.run_id)
        assert (await resuming).status is RunStatus.CANCELLED
        assert await legal(app) == []
    (call,) = store.rows("select status, code from action_call")
    assert call == {"status": "cancelled", "code": "CANCELLED"}
    (last,) = store.rows("select kind, items from message order by seq desc limit 1")
    assert last["kind"] == "late-result"
    assert "may have taken effect" in last["items"]


async def test_a_request_that_cannot_be_stored_denies_the_call(wakeful_app: Any) -> None:
    class Broken(Careful):
        name = "broken"

        async def ask(self, tx: Tx, run: Run, inv: Invocation, judgement: Judgement) -> ApprovalRequest:
            raise OSError("no paper left")

    desk = Agent(model=ScriptedModel([HELD, "Sorry."]), actions=[pay, ping], plugins=[Broken])
    async with wakeful_app(desk) as app:
        answer = await app.send("agent", "Pay")
        assert (answer.status, answer.pending) == (RunStatus.COMPLETED, ())
        assert await legal(app) == []
    assert paid == [5]
    assert "no paper left" in shown(asked(desk)[-1].items[-2])
