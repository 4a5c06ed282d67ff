"""Replies that are not simply good: empty, cut, refused, paused, failed, or no replies at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.testing import Database, TurnResult, say
from wakeful.types import Call, ModelError, Opaque, Profile, Reply, RunStatus, Stop, Text

Turn = Callable[..., TurnResult]


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


def test_an_empty_reply_is_asked_for_once_more(run_turn: Turn, store: Database) -> None:
    result = run_turn(
        Agent(model=""), "Go", replies=[say(usage={"output": 1}), say("Here.", usage={"output": 2})]
    )
    assert result.answer.text == "Here."
    assert result.answer.usage.output == 3
    assert [row.kind.value for row in result.rows] == ["user", "assistant"]
    assert result.requests[0].canonical() == result.requests[1].canonical()
    assert [row["kind"] for row in store.rows("select kind from model_call order by id")] == ["empty", "step"]


def test_two_empty_replies_fail_the_run(run_turn: Turn) -> None:
    result = run_turn(Agent(model=""), "Go", replies=[say(), say("  \n"), "never asked"])
    assert result.answer.status is RunStatus.FAILED
    assert result.answer.error.startswith("malformed: ")
    assert len(result.requests) == 2


def test_a_reply_cut_inside_a_call_is_never_executed(run_turn: Turn) -> None:
    ran: list[int] = []

    @action(effect="external", output_trust="trusted")
    async def pay(euros: int) -> str:
        """Pay.

        Args:
            euros: how much.
        """
        ran.append(euros)
        return "paid"

    replies = [
        say(calls=[("pay", '{"euros":1'), ("pay", {"euros": 2})], stop="length"),
        say(calls=[("pay", {"euros": 10})]),
        "Done.",
    ]
    result = run_turn(Agent(model="", actions=[pay]), "Go", replies=replies)
    assert ran == [10]
    assert result.answer.text == "Done."
    assert [ended.result.code for ended in result.calls] == ["OUTPUT_LIMIT", "OUTPUT_LIMIT", "SUCCESS"]
    assert [row.kind.value for row in result.rows] == [
        "user",
        "assistant",
        "result",
        "result",
        "assistant",
        "result",
        "assistant",
    ]


def test_a_reply_cut_twice_in_a_row_fails_the_run(run_turn: Turn) -> None:
    cut = say(calls=["ping"], stop="length")
    result = run_turn(Agent(model="", actions=[ping]), "Go", replies=[cut, cut, "never asked"])
    assert result.answer.status is RunStatus.FAILED
    assert "output limit" in result.answer.error
    assert result.rows[-1].kind.value == "result"


def test_cuts_that_are_not_in_a_row_do_not_fail_the_run(run_turn: Turn) -> None:
    cut, good = say(calls=["ping"], stop="length"), say(calls=["ping"])
    result = run_turn(Agent(model="", actions=[ping]), "Go", replies=[cut, good, cut, "Done."])
    assert result.answer.text == "Done."


def test_a_cut_answer_is_given_and_says_so(run_turn: Turn) -> None:
    answer = run_turn(Agent(model=""), "Go", replies=[say("Once upon a", stop="length")]).answer
    assert (answer.status, answer.text) == (RunStatus.COMPLETED, "Once upon a")
    assert "output limit" in answer.error


def test_a_refusal_fails_the_run(run_turn: Turn) -> None:
    answer = run_turn(Agent(model=""), "Go", replies=[say("I cannot.", stop="refused")]).answer
    assert answer.status is RunStatus.FAILED
    assert answer.text == "I cannot."
    assert answer.error.startswith("refused: ")


def test_a_pause_goes_on(run_turn: Turn) -> None:
    result = run_turn(Agent(model=""), "Go", replies=[say("Hm.", stop="pause"), "Done."])
    assert result.answer.text == "Done."
    assert [row.kind.value for row in result.rows] == ["user", "assistant", "assistant"]


def test_thinking_is_kept_as_the_providers_own_block(run_turn: Turn) -> None:
    result = run_turn(
        Agent(model="", actions=[ping]), "Go", replies=[say("So.", thinking="Hm.", calls=["ping"]), "Done."]
    )
    opaque = Opaque("scripted", {"type": "thinking", "thinking": "Hm."})
    assert result.rows[1].items[0] == opaque
    assert opaque in result.requests[1].items
    assert result.answer.text == "Done."


@pytest.mark.parametrize("kind", ["auth", "rate_limit", "overloaded", "context_too_long", "server"])
def test_a_failed_model_call_fails_the_run_with_its_class(run_turn: Turn, store: Database, kind: str) -> None:
    result = run_turn(Agent(model=""), "Go", replies=[ModelError(kind, "no luck today")])
    assert result.answer.status is RunStatus.FAILED
    assert result.answer.error == f"{kind}: no luck today"
    assert [row.kind.value for row in result.rows] == ["user"]
    assert store.rows("select status, error from step") == [{"status": "failed", "error": "no luck today"}]
    assert store.rows("select status from run") == [{"status": "failed"}]


@pytest.mark.parametrize(
    ("garbage", "told"),
    [
        (ZeroDivisionError("division by zero"), "unknown: the provider 'scripted' raised ZeroDivisionError"),
        (TimeoutError("read timed out"), "timeout: "),
        (Reply((object(),)), "unknown: the provider 'scripted'"),  # type: ignore[arg-type]  # wrong on purpose
        (Reply("no items"), "unknown: the provider 'scripted'"),  # type: ignore[arg-type]  # wrong on purpose
        (Reply((Call(1, "ping", {}),)), "unknown: the provider 'scripted'"),  # type: ignore[arg-type]  # wrong on purpose
    ],
)
def test_a_provider_that_breaks_fails_the_run_and_nothing_else(
    run_turn: Turn, store: Database, garbage: Any, told: str
) -> None:
    result = run_turn(Agent(model=""), "Go", "Again", replies=[garbage, "Fine."])
    broken, fine = result.answers
    assert broken.status is RunStatus.FAILED
    assert broken.error.startswith(told)
    assert fine.text == "Fine."
    assert [row["status"] for row in store.rows("select status from run order by id")] == [
        "failed",
        "completed",
    ]


def test_a_provider_that_returns_no_reply_at_all_fails_the_run(run_turn: Turn) -> None:
    class Model:
        profile = Profile("odd")

        async def complete(self, request: Any, conversation: str, emit: Any = None) -> Any:
            return {"text": "hello"}

    answer = run_turn(Agent(model=Model()), "Go").answer
    assert answer.status is RunStatus.FAILED
    assert answer.error.startswith("unknown: the provider 'odd'")


def test_ids_that_a_provider_uses_again_do_not_confuse_results(run_turn: Turn) -> None:
    twice = Reply((Call("same", "ping", "{}"), Call("same", "nope", "{}")), stop=Stop.CALLS)
    result = run_turn(Agent(model="", actions=[ping]), "Go", replies=[twice, twice, "Done."])
    assert [ended.result.code for ended in result.calls] == ["SUCCESS", "UNKNOWN_TOOL"] * 2
    assert [row.seq for row in result.rows] == list(range(1, 9))


def test_the_text_of_a_reply_is_joined_from_its_pieces(run_turn: Turn) -> None:
    pieces = Reply((Text("assistant", "One."), Opaque("scripted", {"x": 1}), Text("assistant", "Two.")))
    assert run_turn(Agent(model=""), "Go", replies=[pieces]).answer.text == "One.\n\nTwo."
