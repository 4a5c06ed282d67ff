"""The circuit breaker: each rule, in its order, with the reason that the model reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from wakeful import Agent
from wakeful.testing import TurnResult, say
from wakeful.types import ActionEnded, Outcome
from wakeful_recovery.recovery import RecoverySettings
from wakeful_recovery.recovery.breaker import blocked

Steps = Callable[..., list[ActionEnded]]


def codes(ended: list[ActionEnded]) -> list[str]:
    return [each.result.code for each in ended]


@pytest.mark.parametrize("code", ["MISSING_CREDENTIALS", "INVALID_CREDENTIALS", "SERVICE_NOT_CONFIGURED"])
def test_a_fatal_code_blocks_the_action_at_once(steps: Steps, shop: Any, code: str) -> None:
    shop.fails["a"] = (code, None)
    ended = steps("look_up a", "look_up b", "list_items b")
    assert codes(ended) == [code, "ACTION_UNAVAILABLE", "SUCCESS"]
    assert shop.done == ["look_up a", "list_items b"]
    reason = f"it ended with {code}, so no call of it can succeed in this run"
    assert ended[1].text.splitlines() == [
        "## Look Up ✗",
        f"**Result:** ACTION_UNAVAILABLE — Look Up was not run: {reason}",
        "**Retryable:** no",
        "**How to recover:** Go on without it, and tell the user what is missing.",
    ]


@pytest.mark.parametrize("code", ["HTTP_401", "HTTP_403", "UNAUTHORIZED", "FORBIDDEN", "PERMISSION_DENIED"])
def test_what_only_this_caller_may_not_do_is_not_fatal(steps: Steps, shop: Any, code: str) -> None:
    shop.fails["a"] = (code, None)
    assert codes(steps("look_up a", "look_up b")) == [code, "SUCCESS"]


def test_words_in_a_message_decide_nothing(steps: Steps, shop: Any) -> None:
    shop.fails["missing credentials: service not configured"] = ("ERROR_17", None)
    assert codes(steps("look_up missing credentials: service not configured", "look_up b"))[1] == "SUCCESS"


def test_the_second_identical_failure_blocks_the_call(steps: Steps, shop: Any) -> None:
    shop.fails["a"] = ("OUT_OF_STOCK", None)
    ended = steps("look_up a", "look_up a", "look_up a", "look_up b")
    assert codes(ended) == ["OUT_OF_STOCK", "OUT_OF_STOCK", "REPEATED_IDENTICAL_CALL", "SUCCESS"]
    assert shop.done == ["look_up a", "look_up a", "look_up b"]
    assert ["failed 2 times and is blocked now" in each.text for each in ended] == [False, True, False, False]
    assert "exactly this call has failed 2 times, the last time with OUT_OF_STOCK" in ended[2].text
    assert "Change the arguments" in ended[2].text


def test_a_failure_that_cannot_be_retried_blocks_the_call_at_once(steps: Steps, shop: Any) -> None:
    shop.fails |= {"a": ("NO_SUCH_ITEM", False), "b": ("PERMISSION_DENIED", True)}
    ended = steps("look_up a", "look_up a", "look_up b", "look_up b")
    assert codes(ended) == [
        "NO_SUCH_ITEM",
        "REPEATED_IDENTICAL_CALL",
        "PERMISSION_DENIED",
        "REPEATED_IDENTICAL_CALL",
    ]
    assert "the same call cannot succeed" in ended[1].text


def test_arguments_are_the_same_in_any_order_at_all_depths(
    run_turn: Callable[..., TurnResult], shop: Any
) -> None:
    from wakeful import ActionError, action

    @action(effect="read", output_trust="trusted")
    async def find(where: dict[str, Any], page: int = 1) -> None:
        """Find."""
        raise ActionError("BROKEN", "broken", retryable=False)

    texts = ['{"page":1,"where":{"a":{"x":1,"y":2}}}', '{"where":{"a":{"y":2,"x":1}},"page":1}']
    replies = [say(calls=[("find", text)]) for text in texts]
    agent = Agent(model="", actions=[find], plugins=["recovery"])
    ended = run_turn(agent, "Go", replies=[*replies, "Done."]).calls
    assert codes(list(ended)) == ["BROKEN", "REPEATED_IDENTICAL_CALL"]


def test_the_fifth_failure_in_a_row_blocks_the_action_after_warnings(steps: Steps, shop: Any) -> None:
    shop.fails |= dict.fromkeys("abcde", ("OUT_OF_STOCK", None))
    ended = steps(*(f"look_up {item}" for item in "abcde"), "look_up ok", "list_items ok")
    assert codes(ended) == [*["OUT_OF_STOCK"] * 5, "ATTEMPTS_EXHAUSTED", "SUCCESS"]
    assert "look_up ok" not in shop.done
    warned = ["in a row" in each.text for each in ended]
    assert warned == [False, False, True, True, True, False, False]
    assert "failure 3 in a row of Look Up; after 5 it is blocked for the rest of this run" in ended[2].text
    assert "failure 5 in a row of Look Up; it is blocked for the rest of this run" in ended[4].text
    assert "its last 5 calls in this run failed, the last one with OUT_OF_STOCK" in ended[5].text


def test_failures_of_one_step_are_counted_one_after_the_other(steps: Steps, shop: Any) -> None:
    shop.fails |= dict.fromkeys("abcde", ("OUT_OF_STOCK", None))
    ended = steps([f"look_up {item}" for item in "abcde"], "look_up ok")
    assert ["in a row" in each.text for each in ended] == [False, False, True, True, True, False]
    assert codes(ended)[-1] == "ATTEMPTS_EXHAUSTED"


def test_the_first_rule_that_applies_is_told(steps: Steps, shop: Any) -> None:
    shop.fails |= dict.fromkeys("abcd", ("OUT_OF_STOCK", None))
    calls = [f"look_up {item}" for item in "abcdd"]
    assert codes(steps(*calls, "look_up d"))[-1] == "REPEATED_IDENTICAL_CALL"
    shop.fails["d"] = ("MISSING_CREDENTIALS", False)
    assert codes(steps(*calls, "look_up d"))[-2:] == ["ACTION_UNAVAILABLE", "ACTION_UNAVAILABLE"]


def test_wrong_arguments_count_as_failures(run_turn: Callable[..., TurnResult], shop: Any) -> None:
    calls = [say(calls=[("look_up", {f"wrong{number}": 1})]) for number in range(5)]
    replies = [*calls, say(calls=[("look_up", {"item": "a"})]), "Done."]
    agent = Agent(model="", actions=shop.actions(), plugins=["recovery"])
    ended = run_turn(agent, "Go", replies=replies).calls
    assert codes(list(ended)) == [*["UNKNOWN_ARGUMENT"] * 5, "ATTEMPTS_EXHAUSTED"]
    assert "Correct the arguments and call again. This is failure 3 in a row of Look Up;" in ended[2].text
    assert shop.done == []


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (['{"itme":"a"}'] * 4, "UNKNOWN_ARGUMENT"),
        (['{"b":1,"a":{"y":1,"x":2}}', '{"a":{"x":2,"y":1},"b":1}'] * 2, "UNKNOWN_ARGUMENT"),
        (["{broken"] * 4, "INVALID_JSON"),
    ],
)
def test_the_same_wrong_arguments_are_named_as_such(
    run_turn: Callable[..., TurnResult], shop: Any, texts: list[str], code: str
) -> None:
    agent = Agent(model="", actions=shop.actions(), plugins=["recovery"])
    replies = [*(say(calls=[("look_up", text)]) for text in texts), "Done."]
    ended = run_turn(agent, "Go", replies=replies).calls
    assert codes(list(ended)) == [code, code, "REPEATED_IDENTICAL_CALL", "REPEATED_IDENTICAL_CALL"]
    assert "Exactly this call has failed 2 times and is blocked now." in ended[1].text
    assert f"has failed 3 times, the last time with {code}" in ended[3].text
    first, last = (
        {line for line in each.text.splitlines() if line.startswith("**Invalid:**")}
        for each in (ended[0], ended[3])
    )
    assert last == first


def test_the_same_unknown_tool_is_named_as_such(run_turn: Callable[..., TurnResult], shop: Any) -> None:
    agent = Agent(model="", actions=shop.actions(), plugins=["recovery"])
    replies = [*[say(calls=["look_upp"])] * 3, "Done."]
    ended = run_turn(agent, "Go", replies=replies).calls
    assert codes(list(ended)) == ["UNKNOWN_TOOL", "UNKNOWN_TOOL", "REPEATED_IDENTICAL_CALL"]
    assert "**Did you mean:** `look_up`" in ended[2].text


def test_a_limit_blocks_no_call_by_itself(run_turn: Callable[..., TurnResult], shop: Any) -> None:
    once = [evolve(each, max_executions=1) for each in shop.actions()]
    replies = [*[say(calls=[("look_up", {"item": "a"})])] * 4, "Done."]
    ended = run_turn(Agent(model="", actions=once, plugins=["recovery"]), "Go", replies=replies).calls
    assert codes(list(ended)) == ["SUCCESS", *["LIMIT_REACHED"] * 3]
    assert not any("is blocked now" in each.text for each in ended)


def test_success_resets(steps: Steps, shop: Any) -> None:
    shop.fails |= dict.fromkeys("abcd", ("OUT_OF_STOCK", None))
    calls = [f"look_up {item}" for item in "abcd"]
    ended = steps(*calls, "look_up ok", *calls, "look_up ok")
    assert set(codes(ended)) == {"OUT_OF_STOCK", "SUCCESS"}
    again = steps("look_up a", "look_up a", "look_up ok", "look_up a")
    assert codes(again)[-1] == "OUT_OF_STOCK"


def test_a_change_elsewhere_lets_the_same_call_be_tried_again(steps: Steps, shop: Any) -> None:
    shop.fails["a"] = ("NO_SUCH_ITEM", False)
    assert codes(steps("look_up a", "list_items b", "look_up a"))[-1] == "REPEATED_IDENTICAL_CALL"
    assert codes(steps("look_up a", "place_order b", "look_up a"))[-1] == "NO_SUCH_ITEM"


def test_a_blocked_call_is_a_row_without_execution(steps: Steps, shop: Any, store: Any) -> None:
    shop.fails["a"] = ("NO_SUCH_ITEM", False)
    steps("look_up a", "look_up a")
    calls = store.rows("select status, verdict, code, result_seq from action_call order by step")
    assert [(call["status"], call["verdict"], call["code"]) for call in calls] == [
        ("done", "allow", "NO_SUCH_ITEM"),
        ("denied", "deny", "REPEATED_IDENTICAL_CALL"),
    ]
    assert calls[1]["result_seq"] is not None


def test_another_run_starts_anew(run_turn: Callable[..., TurnResult], shop: Any) -> None:
    shop.fails["a"] = ("NO_SUCH_ITEM", False)
    replies = [say(calls=[("look_up", {"item": "a"})]), "No."]
    agent = Agent(model="", actions=shop.actions(), plugins=["recovery"])
    ended = run_turn(agent, "Go", "Again", replies=replies * 2).calls
    assert codes(list(ended)) == ["NO_SUCH_ITEM", "NO_SUCH_ITEM"]


def test_loops_are_exempt(run_turn: Callable[..., TurnResult], shop: Any) -> None:
    shop.fails["a"] = ("SOME_FAILED", False)
    actions = [evolve(each, message_type="loop-result") for each in shop.actions()]
    replies = [*[say(calls=[("look_up", {"item": "a"})])] * 7, "Done."]
    agent = Agent(model="", actions=actions, plugins=["recovery"])
    ended = run_turn(agent, "Go", replies=replies).calls
    assert codes(list(ended)) == ["SOME_FAILED"] * 7
    assert not any("in a row" in each.text for each in ended)


def test_a_call_with_an_unknown_outcome_is_no_failure() -> None:
    lost = Outcome("run/1/0", "pay", '{"euros":5}', success=False, code="OUTCOME_UNKNOWN", retryable=False)
    failed = evolve(lost, code="DECLINED")
    settings = RecoverySettings()
    assert blocked([lost] * 9, "pay", '{"euros":5}', settings, lambda name: True) is None
    assert blocked([failed], "pay", '{"euros":5}', settings, lambda name: True) is not None


def test_the_limits_are_settings(steps: Steps, shop: Any) -> None:
    shop.fails |= {"a": ("X", None), "b": ("X", None), "c": ("NO_LICENCE", None)}
    assert codes(steps("look_up a", "look_up a", identical_failures=1))[1] == "REPEATED_IDENTICAL_CALL"
    ended = steps("look_up a", "look_up b", "look_up ok", failures_in_a_row=2, warn_from=1)
    assert codes(ended)[2] == "ATTEMPTS_EXHAUSTED"
    assert "failure 1 in a row" in ended[0].text
    assert codes(steps("look_up c", "look_up ok", fatal_codes=["NO_LICENCE"]))[1] == "ACTION_UNAVAILABLE"


def test_without_the_plugin_nothing_is_blocked(run_turn: Callable[..., TurnResult], shop: Any) -> None:
    shop.fails["a"] = ("MISSING_CREDENTIALS", False)
    replies = [*[say(calls=[("look_up", {"item": "a"})])] * 7, "Done."]
    ended = run_turn(Agent(model="", actions=shop.actions()), "Go", replies=replies).calls
    assert codes(list(ended)) == ["MISSING_CREDENTIALS"] * 7
    assert "How to recover" not in ended[0].text
