"""Actions that run others as a part of themselves: judged, limited, journalled and resumed like any call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from attrs import define, field

from wakeful import Agent, action, hookimpl
from wakeful import open as open_app
from wakeful.store.tables import action_call
from wakeful.testing import Database, FakeClock, FakeIds, ScriptedModel, TurnResult, say
from wakeful.types import (
    Action,
    ActionContext,
    ActionEnded,
    ActionError,
    ActionResult,
    Invocation,
    Judgement,
    RunStatus,
    Trust,
    Verdict,
)

Turn = Callable[..., TurnResult]


@define
class Works:
    """What was done, and the actions that do it."""

    done: list[str] = field(factory=list)
    got: list[ActionResult] = field(factory=list)

    def actions(self, calls: list[tuple[str, Mapping[str, Any]]], **declared: Any) -> list[Action]:
        """Declare an action that makes the calls, and the one they are for."""

        @action(effect="external", output_trust="trusted", **declared)
        async def work(what: str) -> str:
            """Work."""
            self.done.append(what)
            return f"{what} is done"

        @action(effect="read", output_trust="untrusted")
        async def look() -> str:
            """Look."""
            return "from outside"

        async def run(args: Mapping[str, Any], ctx: ActionContext) -> ActionResult:
            for number, (name, given) in enumerate(calls):
                self.got.append(await ctx.call(name, given, inner=number))
            told = [called.action async for called in ctx.called()]
            return ActionResult(outputs={"called": told}, trust=Trust.TRUSTED)

        schema: dict[str, Any] = {"type": "object", "properties": {}}
        both = Action("Both", "Do both.", schema, run, idempotent=True, output_trust=Trust.TRUSTED)
        return [work, look, both]


@pytest.fixture
def works() -> Works:
    return Works()


def play(run_turn: Turn, works: Works, calls: Any, plugins: Any = (), **declared: Any) -> ActionEnded:
    agent = Agent(model="", actions=works.actions(calls, **declared), plugins=list(plugins))
    result = run_turn(agent, "Go", replies=[say(calls=["both"]), "Done."])
    assert result.answer.status is RunStatus.COMPLETED
    (ended,) = result.calls
    return ended


def test_it_gets_their_results_and_one_row_tells_of_all(run_turn: Turn, works: Works) -> None:
    ended = play(run_turn, works, [("work", {"what": "a"}), ("work", {"what": "b"})])
    assert works.done == ["a", "b"]
    assert [result.outputs for result in works.got] == [{"result": "a is done"}, {"result": "b is done"}]
    assert ended.result.outputs == {"called": ["work", "work"]}


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (("wrk", {"what": "a"}), "UNKNOWN"),
        (("work", {"wat": "a"}), "UNKNOWN_ARGUMENT"),
        (("work", {}), "MISSING_ARGUMENT"),
    ],
)
def test_wrong_ones_are_refused(run_turn: Turn, works: Works, call: Any, code: str) -> None:
    play(run_turn, works, [call])
    assert not works.done
    assert not works.got[0].success
    assert works.got[0].code.startswith(code)


def test_limits_count_them(run_turn: Turn, works: Works) -> None:
    play(run_turn, works, [("work", {"what": str(n)}) for n in range(4)], max_executions=2)
    assert works.done == ["0", "1"]
    assert [result.code for result in works.got[2:]] == ["LIMIT_REACHED"] * 2


def test_each_is_judged_and_knows_its_parent_and_what_came_before(run_turn: Turn, works: Works) -> None:
    seen: list[tuple[str, Trust]] = []

    class Judging:
        name = "judging"

        @hookimpl
        def policy_verdict(self, proposal: Invocation) -> Judgement | None:
            if not proposal.parent:
                return None
            worst = max((each.trust for each in proposal.provenance), default=Trust.TRUSTED)
            seen.append((proposal.key.partition("/")[2], worst))
            denied = proposal.action == "work" and worst is Trust.UNTRUSTED
            return Judgement(Verdict.DENY, "tainted") if denied else None

    calls = [("work", {"what": "a"}), ("look", {}), ("work", {"what": "b"})]
    play(run_turn, works, calls, plugins=[Judging()])
    assert works.done == ["a"], "after something from outside came back, the next call is made of it"
    assert seen == [("1/0/0", Trust.TRUSTED), ("1/0/1", Trust.TRUSTED), ("1/0/2", Trust.UNTRUSTED)]
    assert works.got[2].code == "POLICY_DENIED"


@pytest.mark.parametrize("end", ["raises", "fails", "says nothing of it", "is sure"])
def test_what_is_said_after_them_is_believed_no_further_than_they_are(
    run_turn: Turn, works: Works, end: str
) -> None:
    @action(effect="read", output_trust="trusted", idempotent=True)
    async def retell(ctx: ActionContext) -> ActionResult:
        """Say what another action said."""
        said = (await ctx.call("look", {}, inner=0, provenance=())).outputs["result"]
        if end == "raises":
            raise ActionError("NO_CHOICE", "it gave several", suggestion=f"Take {said}.")
        trust = Trust.TRUSTED if end == "is sure" else None
        return ActionResult(success=end != "fails", message=str(said), trust=trust)

    agent = Agent(model="", actions=[*works.actions([]), retell])
    (ended,) = run_turn(agent, "Go", replies=[say(calls=["retell"]), "Done."]).calls
    if end == "is sure":
        assert ended.result.trust is Trust.TRUSTED
    else:
        assert (ended.result.trust, ended.result.source) == (Trust.UNTRUSTED, "action:Look")


def test_the_journal_has_each_under_its_parent(works: Works, store: Database) -> None:
    async def run() -> list[Any]:
        model = ScriptedModel([say(calls=["both"]), "Done."])
        agent = Agent(model=model, actions=works.actions([("work", {"what": "a"})]), store=store.url)
        async with open_app(agent, clock=FakeClock(), ids=FakeIds()) as app:
            await app.send("agent", "Go", conversation="c")
            query = action_call.select().order_by(action_call.c.key)
            return list(await app.store.read(lambda conn: conn.execute(query).all()))

    outer, inner = asyncio.run(run())
    assert (outer.key, outer.parent) == ("run-1/1/0", None)
    assert (inner.key, inner.parent, inner.status) == ("run-1/1/0/0", "run-1/1/0", "done")
    assert inner.result_seq == outer.result_seq == 3


def test_a_cancelled_run_ends_them(works: Works, store: Database) -> None:
    async def run() -> list[Any]:
        started = asyncio.Event()

        @action(effect="external", output_trust="trusted")
        async def wait() -> str:
            """Wait."""
            started.set()
            await asyncio.Event().wait()
            return "never"

        model = ScriptedModel([say(calls=["both"]), "Done."])
        agent = Agent(model=model, actions=[*works.actions([("wait", {})]), wait], store=store.url)
        async with open_app(agent, clock=FakeClock(), ids=FakeIds()) as app:
            sending = asyncio.ensure_future(app.send("agent", "Go", conversation="c"))
            await started.wait()
            await app.cancel("run-1")
            answer = await sending
            assert answer.status is RunStatus.CANCELLED
            query = action_call.select().order_by(action_call.c.key)
            return list(await app.store.read(lambda conn: conn.execute(query).all()))

    outer, inner = asyncio.run(run())
    assert (outer.status, inner.status, inner.code) == ("cancelled", "cancelled", "CANCELLED")
