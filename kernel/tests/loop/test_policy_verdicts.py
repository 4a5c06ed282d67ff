"""Judging: all calls of a step before any runs, the strictest wins, every word is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from wakeful import Agent, action, hookimpl
from wakeful.testing import Database, TurnResult, say
from wakeful.types import Action, CallJudged, Invocation, Judgement, Run, RunStatus, Verdict

Turn = Callable[..., TurnResult]
charged: list[int] = []


@action(effect="external", output_trust="trusted")
async def charge(euros: int) -> str:
    """Charge a card.

    Args:
        euros: how much.
    """
    charged.append(euros)
    return f"charged {euros}"


@pytest.fixture(autouse=True)
def _nothing_charged() -> None:
    charged.clear()


class Says:
    """A judge that always says the same."""

    def __init__(self, name: str, verdict: Verdict | None, reason: str = "") -> None:
        self.name, self.verdict, self.reason = name, verdict, reason

    @hookimpl
    def policy_verdict(self, proposal: Invocation) -> Judgement | None:
        return None if self.verdict is None else Judgement(self.verdict, self.reason)


class Yields:
    """A judge whose word counts where nobody else has one."""

    name = "yields"

    @hookimpl
    def policy_verdict(self) -> Judgement | None:
        return Judgement(Verdict.DENY, "nobody looked at it", fallback=True)


class Breaks:
    """A judge that fails."""

    name = "breaks"

    @hookimpl
    def policy_verdict(self) -> Judgement | None:
        raise LookupError("rules are gone")


def judged(
    run_turn: Turn, *plugins: object, calls: Sequence[Any] = (("charge", {"euros": 5}),)
) -> TurnResult:
    agent = Agent(model="", actions=[charge], plugins=plugins)
    return run_turn(agent, "Go", replies=[say(calls=calls), "Done."])


def test_no_opinion_allows(run_turn: Turn) -> None:
    assert judged(run_turn, Says("quiet", None)).calls[0].result.success
    assert charged == [5]


def test_a_fallback_counts_where_nobody_else_has_an_opinion(run_turn: Turn) -> None:
    result = judged(run_turn, Yields(), Says("quiet", None)).calls[0].result
    assert charged == []
    assert "nobody looked at it" in result.message
    assert judged(run_turn, Yields(), Says("mild", Verdict.ALLOW)).calls[0].result.success
    assert charged == [5]


def test_the_strictest_verdict_wins_and_every_reason_is_kept(run_turn: Turn, store: Database) -> None:
    result = judged(
        run_turn,
        Says("mild", Verdict.ALLOW, "fine by me"),
        Says("strict", Verdict.DENY, "never on Mondays"),
        Says("middle", Verdict.DEFER, "later"),
    )
    assert charged == []
    (ended,) = result.calls
    assert ended.result.code == "POLICY_DENIED"
    assert "never on Mondays" in ended.text
    assert "later" not in ended.text
    (call,) = store.rows("select verdict, reasons, status from action_call")
    assert (call["verdict"], call["status"]) == ("deny", "denied")
    assert json.loads(call["reasons"]) == [
        ["mild", "allow", "fine by me"],
        ["strict", "deny", "never on Mondays"],
        ["middle", "defer", "later"],
    ]
    (event,) = [event for event in result.events if isinstance(event, CallJudged)]
    assert (event.verdict, event.reason) == (Verdict.DENY, "never on Mondays")
    assert result.answer.status is RunStatus.COMPLETED


def test_a_judge_that_fails_denies(run_turn: Turn, store: Database) -> None:
    result = judged(run_turn, Breaks(), Says("mild", Verdict.ALLOW))
    assert charged == []
    assert "plugin 'breaks' failed in policy_verdict" in result.calls[0].text
    assert "rules are gone" in store.rows("select reasons from action_call")[0]["reasons"]


def test_a_judge_sees_what_the_step_proposed_before(run_turn: Turn) -> None:
    class Once:
        @hookimpl
        def policy_verdict(
            self, run: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
        ) -> Judgement | None:
            same = [inv for inv in earlier if (inv.action, inv.args) == (proposal.action, proposal.args)]
            return Judgement(Verdict.DENY, "the same charge twice", code="DUPLICATE") if same else None

    result = judged(run_turn, Once(), calls=[("charge", {"euros": 5}), ("charge", {"euros": "5"})])
    assert charged == [5]
    assert [ended.result.code for ended in result.calls] == ["SUCCESS", "DUPLICATE"]


def test_all_calls_are_judged_before_any_runs(run_turn: Turn) -> None:
    seen: list[list[int]] = []

    class Watches:
        @hookimpl
        def policy_verdict(self) -> None:
            seen.append(list(charged))

    judged(run_turn, Watches(), calls=[("charge", {"euros": 1}), ("charge", {"euros": 2})])
    assert seen == [[], []]
    assert charged == [1, 2]


def test_refused_calls_are_not_judged(run_turn: Turn) -> None:
    seen: list[str] = []

    class Watches:
        @hookimpl
        def policy_verdict(self, proposal: Invocation) -> None:
            seen.append(proposal.call.id)

    judged(run_turn, Watches(), calls=["nope", ("charge", {"cents": 1}), ("charge", {"euros": 2})])
    assert seen == ["call_1_3"]


def test_a_denied_call_does_not_use_up_max_executions(run_turn: Turn) -> None:
    @action(effect="external", output_trust="trusted", max_executions=1)
    async def send(to: str) -> str:
        """Send.

        Args:
            to: whom.
        """
        return to

    class NotEve:
        @hookimpl
        def policy_verdict(self, proposal: Invocation) -> Judgement | None:
            return Judgement(Verdict.DENY) if proposal.args["to"] == "eve" else None

    agent = Agent(model="", actions=[send], plugins=[NotEve()])
    calls = [("send", {"to": name}) for name in ("eve", "ada", "bob")]
    result = run_turn(agent, "Go", replies=[say(calls=calls), "Done."])
    assert [ended.result.code for ended in result.calls] == ["POLICY_DENIED", "SUCCESS", "LIMIT_REACHED"]


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (Verdict.STAGE, "POLICY_DENIED"),
        (Verdict.REQUIRE_APPROVAL, "POLICY_DENIED"),
        (Verdict.AUTO_REVIEW, "POLICY_DENIED"),
        (Verdict.DEFER, "POLICY_DEFERRED"),
    ],
)
def test_without_anybody_to_ask_nothing_runs(run_turn: Turn, verdict: Verdict, code: str) -> None:
    result = judged(run_turn, Says("careful", verdict, "big sum"))
    assert charged == []
    assert result.calls[0].result.code == code
    assert "big sum" in result.calls[0].text
    assert result.answer.status is RunStatus.COMPLETED


class Reviews:
    """A judge that wants reviews, and the reviewer."""

    name = "reviews"

    def __init__(self, outcome: Judgement | Exception) -> None:
        self.outcome = outcome

    @hookimpl
    def policy_verdict(self) -> Judgement:
        return Judgement(Verdict.AUTO_REVIEW, "look at this")

    @hookimpl
    def policy_reviewer(self) -> Any:
        return self

    async def review(self, run: Run, inv: Invocation, judgement: Judgement) -> Judgement:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_a_reviewer_may_allow(run_turn: Turn, store: Database) -> None:
    judged(run_turn, Reviews(Judgement(Verdict.ALLOW, "small enough")))
    assert charged == [5]
    reasons = json.loads(store.rows("select reasons from action_call")[0]["reasons"])
    assert [reason[1:] for reason in reasons] == [["auto_review", "look at this"], ["allow", "small enough"]]


def test_a_reviewer_may_deny(run_turn: Turn) -> None:
    result = judged(run_turn, Reviews(Judgement(Verdict.DENY, "not this one")))
    assert charged == []
    assert "not this one" in result.calls[0].text


@pytest.mark.parametrize("outcome", [RuntimeError("no network"), Judgement(Verdict.AUTO_REVIEW), None])
def test_a_review_that_settles_nothing_needs_a_person(run_turn: Turn, outcome: Any) -> None:
    result = judged(run_turn, Reviews(outcome))
    assert charged == []
    assert "needs a person's approval" in result.calls[0].text


def test_a_review_is_not_asked_for_what_is_denied_anyway(run_turn: Turn) -> None:
    result = judged(run_turn, Reviews(Judgement(Verdict.ALLOW)), Says("strict", Verdict.DENY, "no"))
    assert charged == []
    assert result.calls[0].result.code == "POLICY_DENIED"
