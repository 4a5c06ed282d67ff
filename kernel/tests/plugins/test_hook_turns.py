"""What plugins say during a turn, and what a failing one does to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from kernel.tests.plugins.hook_doubles import ACTION, PROPOSAL, RUN, plugin
from wakeful import hookimpl
from wakeful.plugins.hooks import AgentPlugins
from wakeful.types import Answer, Fragment, Invocation, Judgement, Run, RunStatus, Verdict


# ---- snapshot
def test_a_failing_snapshot_leaves_out_only_its_own_fragments() -> None:
    plugins = AgentPlugins(
        {
            "bad": plugin(prompt_state=KeyError("rules")),
            "wrong": plugin(prompt_state=[Fragment("x", 1, "x"), "text"]),
            "b": plugin(prompt_state=[Fragment("same", 1, "from b")]),
            "a": plugin(prompt_state=[Fragment("same", 1, "from a"), Fragment("first", 0, "1")]),
            "silent": plugin(prompt_state=None),
        }
    )
    fragments, failures = plugins.state(RUN)
    assert [fragment.text for fragment in fragments] == ["1", "from a", "from b"]
    assert [failure.plugin for failure in failures] == ["bad", "wrong"]
    assert str(failures[0]) == "plugin 'bad' failed in prompt_state: KeyError: 'rules'"


# ---- gather
async def test_context_is_asked_concurrently_and_placed_in_fixed_order() -> None:
    arrived = asyncio.Barrier(2)  # opens only if both are under way at once
    done: list[str] = []

    class Searching:
        def __init__(self, name: str, order: int) -> None:
            self.name, self.order = name, order

        @hookimpl
        async def prompt_context(self, run: Run) -> Sequence[Fragment]:
            await arrived.wait()
            done.append(self.name)
            return [Fragment(self.name, self.order, run.id)]

    fragments, failures = await AgentPlugins(
        {"late": Searching("late", 2), "early": Searching("early", 1)}
    ).context(RUN)
    assert [fragment.name for fragment in fragments] == ["early", "late"]
    assert sorted(done) == ["early", "late"]
    assert failures == ()


async def test_a_failing_context_leaves_the_others_in_place() -> None:
    plugins = AgentPlugins(
        {
            "down": plugin(prompt_context=OSError("no route")),
            "none": plugin(prompt_context=None),
            "up": plugin(prompt_context=[Fragment("found", 1, "text")]),
            "gone": plugin(prompt_context=asyncio.CancelledError()),
        }
    )
    fragments, failures = await plugins.context(RUN)
    assert fragments == (Fragment("found", 1, "text"),)
    assert [str(failure) for failure in failures] == [
        "plugin 'down' failed in prompt_context: OSError: no route",
        "plugin 'gone' failed in prompt_context: it was cancelled from within",
    ]


class Hanging:
    def __init__(self) -> None:
        self.started, self.ended = asyncio.Event(), False

    @hookimpl
    async def prompt_context(self) -> Sequence[Fragment]:
        try:
            self.started.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # tidying up takes a round of the loop
            self.ended = True
        return ()


async def test_a_context_that_takes_too_long_is_left_out() -> None:
    hanging = Hanging()
    plugins = AgentPlugins({"slow": hanging, "up": plugin(prompt_context=[Fragment("found", 1, "text")])})
    fragments, failures = await plugins.context(RUN, timeout_s=0.01)
    assert fragments == (Fragment("found", 1, "text"),)
    assert str(failures[0]) == "plugin 'slow' failed in prompt_context: no answer within 0.01 seconds"
    assert hanging.ended


async def test_a_plugins_own_timeout_is_reported_as_its_own() -> None:
    _, failures = await AgentPlugins({"mine": plugin(prompt_context=TimeoutError("search"))}).context(RUN)
    assert str(failures[0]) == "plugin 'mine' failed in prompt_context: TimeoutError: search"


async def test_cancelling_leaves_no_task_behind() -> None:
    hanging = [Hanging(), Hanging()]
    plugins = AgentPlugins({"one": hanging[0], "two": hanging[1]})
    task = asyncio.create_task(plugins.context(RUN))
    for each in hanging:
        await each.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(each.ended for each in hanging)
    assert asyncio.all_tasks() == {asyncio.current_task()}


# ---- judge
def test_every_verdict_is_kept_with_the_true_name_of_its_plugin() -> None:
    plugins = AgentPlugins(
        {
            "mild": plugin(policy_verdict=Judgement(Verdict.ALLOW, "fine", "somebody else")),
            "silent": plugin(policy_verdict=None),
            "strict": plugin(policy_verdict=Judgement(Verdict.REQUIRE_APPROVAL, "money", code="MONEY")),
        }
    )
    assert plugins.verdicts(RUN, PROPOSAL, ACTION, ()) == (
        Judgement(Verdict.ALLOW, "fine", "mild"),
        Judgement(Verdict.REQUIRE_APPROVAL, "money", "strict", "MONEY"),
    )


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (KeyError("rules"), "plugin 'mine' failed in policy_verdict: KeyError: 'rules'"),
        (Verdict.ALLOW, "expected a Judgement, got the Verdict"),
        (True, "expected a Judgement, got True"),
        (Judgement("allow"), "Judgement.verdict: expected Verdict, got the str 'allow'"),  # type: ignore[arg-type]  # wrong on purpose
    ],
)
def test_a_judge_that_fails_denies(answer: Any, told: str) -> None:
    (judgement,) = AgentPlugins({"mine": plugin(policy_verdict=answer)}).verdicts(RUN, PROPOSAL, ACTION, ())
    assert judgement.verdict is Verdict.DENY
    assert judgement.plugin == "mine"
    assert told in judgement.reason


def test_a_judge_sees_the_earlier_proposals_of_the_step() -> None:
    class Counting:
        @hookimpl
        def policy_verdict(self, proposal: Invocation, earlier: Sequence[Invocation]) -> Judgement | None:
            return (
                Judgement(Verdict.DENY, "twice") if proposal.action in [e.action for e in earlier] else None
            )

    plugins = AgentPlugins({"mine": Counting()})
    assert plugins.verdicts(RUN, PROPOSAL, ACTION, ()) == ()
    assert plugins.verdicts(RUN, PROPOSAL, ACTION, (PROPOSAL,)) == (Judgement(Verdict.DENY, "twice", "mine"),)


# ---- event
async def test_events_are_awaited_in_order_and_a_failure_does_not_stop_the_next() -> None:
    heard: list[str] = []

    class Listening:
        def __init__(self, name: str, error: Exception | None = None) -> None:
            self.name, self.error = name, error

        @hookimpl
        async def turn_ended(self, answer: Answer) -> None:
            heard.append(f"{self.name}: {answer.text}")
            if self.error:
                raise self.error

    plugins = AgentPlugins({"z": Listening("z", OSError("disk full")), "a": Listening("a")})
    failures = await plugins.turn_ended(RUN, Answer("done", RunStatus.COMPLETED, "run-1", "c-1"))
    assert heard == ["z: done", "a: done"]
    assert [str(failure) for failure in failures] == ["plugin 'z' failed in turn_ended: OSError: disk full"]
