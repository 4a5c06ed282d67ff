"""Numbers that JSON does not have are texts, whoever gives them; what cannot be said at all is a failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from attrs import evolve, frozen

from wakeful import ActionError, ActionResult, Agent, action, hookimpl
from wakeful.testing import TurnResult, say
from wakeful.types import Action, ActionContext, Effect, InvalidParam, Json, Phase, RunStatus, Stage, Trust

Turn = Callable[..., TurnResult]
NAN, ENDLESS = float("nan"), float("inf")


@action(effect="read", output_trust="trusted")
async def declared() -> dict[str, float]:
    """Return what is no number."""
    return {"a": NAN, "b": -ENDLESS}


@action(effect="read", output_trust="trusted")
async def raised() -> None:
    """Fail with what is no number."""
    invalid = [InvalidParam("a", "is odd", "", (NAN,)), InvalidParam("b", "is odd", "", (object(),))]
    raise ActionError("ODD", "odd", example={"a": NAN}, invalid=invalid)


def built(outputs: dict[str, Any]) -> Action:
    async def run(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
        return ActionResult(outputs=outputs)

    return Action(
        "Built", "Built from data.", {"type": "object"}, run, effect=Effect.READ, output_trust=Trust.TRUSTED
    )


@frozen
class Odd:
    """A stage that puts in what is no number."""

    phase: Phase = Phase.BOUND
    name: str = "odd"

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:
        return evolve(result, outputs={"result": {"a": NAN, "b": -ENDLESS}})


class Puts:
    """A plugin with that stage."""

    name = "puts"

    @hookimpl
    def result_stages(self) -> list[Stage]:
        return [Odd()]


@pytest.mark.parametrize(
    ("made", "plugins"),
    [(declared, []), (built({"result": {"a": NAN, "b": -ENDLESS}}), []), (built({"result": 1}), [Puts()])],
)
def test_a_number_that_is_none_is_a_text(run_turn: Turn, made: Action, plugins: Any) -> None:
    agent = Agent(model="", actions=[made], plugins=plugins)
    (ended,) = run_turn(agent, "Go", replies=[say(calls=[made.tool_name]), "Done."]).calls
    assert ended.result.outputs == {"result": {"a": "NaN", "b": "-Infinity"}}
    assert ended.text.splitlines()[-2:] == ["  - `a`: NaN", "  - `b`: -Infinity"]


def test_what_cannot_be_expressed_fails_the_call(run_turn: Turn) -> None:
    made = built({"result": object()})
    (ended,) = run_turn(Agent(model="", actions=[made]), "Go", replies=[say(calls=["built"]), "Done."]).calls
    assert ended.result.code == "UNSERIALISABLE"


def test_an_error_keeps_its_code_and_what_can_be_expressed(run_turn: Turn) -> None:
    result = run_turn(Agent(model="", actions=[raised]), "Go", replies=[say(calls=["raised"]), "Done."])
    assert result.answer.status is RunStatus.COMPLETED
    text = result.calls[0].text
    assert "**Result:** ODD — odd" in text
    assert "**Invalid:** `a` is odd; allowed: NaN" in text
    assert "**Invalid:** `b` is odd\n" in text
    assert '**Valid example:** `{"a":"NaN"}`' in text
