"""Cancelling: at any moment, by anybody, with a legal transcript left behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from wakeful import ActionContext, Agent, action, hookimpl
from wakeful.store.verify import verify
from wakeful.testing import Database, FakeClock, Gate, ScriptedModel, TurnResult, say
from wakeful.types import (
    ActionEnded,
    Answer,
    Invocation,
    Judgement,
    ReplyReceived,
    Run,
    RunEnded,
    RunStatus,
    Verdict,
)

Turn = Callable[..., TurnResult]


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


def gated(gate: Gate, **settings: Any) -> Any:
    """Return an action that stands at a gate."""

    @action("Work", effect="read", output_trust="trusted", **settings)
    async def work() -> str:
        """Work."""
        await gate.wait()
        return "worked"

    return work


async def legal(app: Any) -> list[str]:
    """Return what is wrong with any transcript of the application's database."""
    found: list[str] = await app.store.read(lambda conn: [str(problem) for problem in verify(conn)])
    return found


async def test_cancelling_while_the_model_thinks(wakeful_app: Any, store: Database) -> None:
    gate = Gate()
    model = ScriptedModel([say("Late.", wait=gate)])
    async with wakeful_app(Agent(model=model)) as app:
        sending = asyncio.ensure_future(app.send("agent", "Go", conversation="c"))
        await gate.reached()
        assert await app.cancel("run-1")
        answer = await sending
        assert answer.status is RunStatus.CANCELLED
        assert await legal(app) == []
        assert not await app.cancel("run-1")
        gate.open()
        model.replies = ["Next."] * 9
        assert (await app.send("agent", "Again", conversation="c")).text == "Next."
    run, _ = store.rows("select status, ended_at from run order by id")
    assert run["status"] == "cancelled"
    assert run["ended_at"]
    assert store.rows("select status from step where run_id = 'run-1'") == [{"status": "cancelled"}]


async def test_cancelling_while_actions_run_keeps_what_is_finished(wakeful_app: Any, store: Database) -> None:
    gate = Gate()

    @action(effect="read", output_trust="trusted")
    async def work(ctx: ActionContext) -> str:
        """Work."""
        await gate.wait()
        return "worked"

    model = ScriptedModel([say(calls=["ping", "work"]), "never asked"])
    async with wakeful_app(Agent(model=model, actions=[ping, work])) as app:
        listening = asyncio.ensure_future(heard(app.stream("agent", "Go", conversation="c")))
        await gate.reached()
        await finished(app, "ping")
        await app.cancel("run-1")
        events = await listening
        assert await legal(app) == []
    assert isinstance(events[-1], RunEnded)
    assert events[-1].answer.status is RunStatus.CANCELLED
    kept, lost = [event for event in events if isinstance(event, ActionEnded)]
    assert kept.result.outputs == {"result": "pong"}
    assert lost.result.code == "CANCELLED"
    assert "may have taken effect" in lost.text
    rows = store.rows("select kind, items from message order by seq")
    assert [row["kind"] for row in rows] == ["user", "assistant", "result", "result"]
    assert json.loads(rows[3]["items"])[0][1] == "call_1_2"
    statuses = [row["status"] for row in store.rows("select status from action_call order by index_")]
    assert statuses == ["done", "cancelled"]


async def heard(stream: Any) -> list[Any]:
    return [event async for event in stream]


async def finished(app: Any, action: str) -> None:
    """Wait until a call of the action is done and recorded."""
    query = f"select count(*) from action_call where status = 'done' and action = '{action}'"
    for _ in range(1000):
        if await app.store.read(lambda conn: conn.exec_driver_sql(query).scalar_one()):
            return
    pytest.fail(f"{action} did not finish")


async def test_a_cancelled_caller_hears_of_it_after_the_run_is_cleaned_up(
    wakeful_app: Any, store: Database
) -> None:
    gate = Gate()
    model = ScriptedModel([say(calls=["work"])])
    async with wakeful_app(Agent(model=model, actions=[gated(gate)])) as app:
        sending = asyncio.ensure_future(app.send("agent", "Go"))
        await gate.reached()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert store.rows("select status from run") == [{"status": "cancelled"}]
        assert await legal(app) == []


class Trap(FakeClock):
    """A clock that springs a trap the n-th time anybody asks what time it is."""

    left = 0

    def set(self, count: int, spring: Callable[[], object]) -> None:
        self.left, self.spring = count, spring

    def now(self) -> Any:
        self.left -= 1
        if self.left == 0:
            self.spring()
        return super().now()


@pytest.mark.parametrize("by_caller", [True, False])
async def test_cancelling_at_any_moment_leaves_a_legal_transcript(wakeful_app: Any, by_caller: bool) -> None:
    replies: list[Any] = [say("One.", calls=["ping", "nope", "ping"]), say(calls=["ping"]), "Done."]
    trap, outcomes, moment = Trap(), set(), 0
    agent = Agent(model=ScriptedModel(replies), actions=[ping], plugins=[Slow()])
    loop = asyncio.get_running_loop()  # whoever asks for the time may do so on another thread
    async with wakeful_app(agent, clock=trap) as app:

        def spring(sending: asyncio.Future[Answer], run: str) -> None:
            if by_caller:
                loop.call_soon_threadsafe(sending.cancel)
            else:
                loop.call_soon_threadsafe(asyncio.ensure_future, app.cancel(run))

        while trap.left <= 0:  # until a turn ends before the trap
            moment += 1
            sending = asyncio.ensure_future(app.send("agent", "Go", conversation=f"c{moment}"))
            trap.set(moment, partial(spring, sending, f"run-{moment}"))
            outcome: Any = (await asyncio.gather(sending, return_exceptions=True))[0]
            assert isinstance(outcome, Answer | asyncio.CancelledError), outcome
            assert await legal(app) == [], f"cancelled at moment {moment}"
            assert await app.store.read(_running) == 0, f"cancelled at moment {moment}"
            outcomes.add(getattr(outcome, "status", None))
    assert moment > 10
    assert outcomes == {None if by_caller else RunStatus.CANCELLED, RunStatus.COMPLETED}


class Slow:
    """Takes its time wherever a plugin is awaited."""

    @hookimpl
    async def prompt_context(self, run: Run) -> Any:
        await asyncio.sleep(0)
        return ()

    @hookimpl
    def policy_verdict(self, run: Run) -> Judgement:
        return Judgement(Verdict.AUTO_REVIEW)

    @hookimpl
    def policy_reviewer(self) -> Any:
        return self

    async def review(self, run: Run, inv: Invocation, judgement: Judgement) -> Judgement:
        await asyncio.sleep(0)
        return Judgement(Verdict.ALLOW)


def _running(conn: Any) -> int:
    return int(conn.exec_driver_sql("select count(*) from run where status = 'running'").scalar_one())


async def test_closing_ends_runs_and_leaves_nothing_half_written(wakeful_app: Any, store: Database) -> None:
    gate = Gate()
    model = ScriptedModel([say(calls=["ping", "work"])])
    async with wakeful_app(Agent(model=model, actions=[ping, gated(gate)])) as app:
        first = asyncio.ensure_future(app.send("agent", "Go", conversation="a"))
        second = asyncio.ensure_future(app.send("agent", "Go", conversation="b"))
        queued = asyncio.ensure_future(app.send("agent", "Go", conversation="a"))
        await gate.reached(2)
    answers = await asyncio.gather(first, second, queued, return_exceptions=True)
    assert [getattr(answer, "status", None) for answer in answers[:2]] == [RunStatus.CANCELLED] * 2
    assert not isinstance(answers[2], Answer)
    assert "closed" in str(answers[2])
    assert [row["status"] for row in store.rows("select status from run")] == ["cancelled"] * 2
    async with store.open() as opened:
        assert await opened.read(lambda conn: list(verify(conn))) == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_leaving_a_stream_early_cancels_the_run(wakeful_app: Any, store: Database) -> None:
    gate = Gate()
    model = ScriptedModel([say("Working.", calls=["work"])])
    async with wakeful_app(Agent(model=model, actions=[gated(gate)])) as app:
        stream = app.stream("agent", "Go")
        async for event in stream:
            if isinstance(event, ReplyReceived):
                break
        await stream.aclose()
        assert store.rows("select status from run") == [{"status": "cancelled"}]
        assert await legal(app) == []
