"""Agents over models whose API knows no tools: everything goes as text, and the loop sees ordinary calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import define, field

from wakeful import Agent, action
from wakeful.models.envelope.parse import FormError, parse
from wakeful.testing import run_turn
from wakeful.types import Item, Opaque, Profile, Reply, Request, RunStatus, Stop, Text, TextDelta, Usage


@define
class TextModel:
    """A model without tools: answers with the given texts and keeps what it was sent."""

    answers: list[str]
    stops: list[Stop] = field(factory=list)
    before: tuple[Item, ...] = ()
    requests: list[Request] = field(factory=list)
    profile: Profile = Profile("text", native_tools=False)

    async def complete(self, request: Request, conversation: str, emit: Any = None) -> Reply:
        """Return the next answer."""
        del conversation
        self.requests.append(request)
        text = self.answers[len(self.requests) - 1]
        if emit is not None:
            await emit(TextDelta(text))
        stop = self.stops.pop(0) if self.stops else Stop.END
        return Reply((*self.before, Text("assistant", text)), Usage(uncached=10, output=2), stop)


@action(effect="read", output_trust="trusted")
async def stock(item: str, warehouse: int = 1) -> int:
    """Count what is in stock.

    Args:
        item: its name.
        warehouse: its number.
    """
    return len(item) * warehouse


def act(message: str, *calls: tuple[str, dict[str, Any]]) -> str:
    actions = [{"name": name, "args": args} for name, args in calls]
    return json.dumps({"message": message, "next": {"type": "actions", "actions": actions}})


def chat(message: str) -> str:
    return json.dumps({"message": message, "next": {"type": "chat"}})


def turn(model: TextModel, *actions: Any) -> Any:
    return run_turn(Agent(model=model, actions=actions or (stock,)), "How many lamps?")


def test_actions_run_and_their_results_come_back_as_text() -> None:
    model = TextModel([act("Looking.", ("stock", {"item": "lamp"})), chat("There are four.")])
    result = turn(model)
    assert (result.answer.text, result.answer.status) == ("There are four.", RunStatus.COMPLETED)
    assert result.calls[0].result.outputs == {"result": 4}
    first, second = model.requests
    assert not first.tools
    assert "## stock" in first.system[-1]
    assert "- `item`* (string): its name." in first.system[-1]
    assert "- `warehouse` (integer = 1): its number." in first.system[-1]
    assert all(isinstance(item, Text) for item in second.items)
    assert "Stock ✓" in second.items[-1].text  # type: ignore[union-attr]  # all are texts


def test_the_models_own_bytes_are_sent_again_unchanged() -> None:
    odd = '  {"next": {"type":"actions","actions":[{"name":"stock","args":{"item":"a"}}]},\n "message":""}'
    model = TextModel([odd, chat("One.")])
    turn(model)
    assert [item.text for item in model.requests[1].items if item.role == "assistant"] == [odd]  # type: ignore[union-attr]  # all are texts


def test_a_fence_around_the_whole_answer_is_stripped() -> None:
    model = TextModel([f"```json\n{chat('Fenced.')}\n```"])
    assert turn(model).answer.text == "Fenced."


def test_an_object_that_does_not_parse_is_repaired() -> None:
    model = TextModel(['{"message": "Repaired", "next": {"type": "chat",},}'])
    assert turn(model).answer.text == "Repaired"


@pytest.mark.parametrize(
    "cut",
    [
        '{"message": "", "next": {"type": "actions", "actions": [{"name": "stock", "args": {"item": "la',
        '{"message": "", "next": {"type": "actions", "actions": [{"name": "stock", "args": {"item": "la"',
        '{"name": "stock", "args": {"item": "lamp"}}',
        '{"actions": [{"name": "stock", "args": {"item": "lamp"}}]}',
        '{"message": "", "next": {"type": "chat", "actions": [{"name": "stock", "args": {}}]}}',
        "{}",
        act("", ("stock", {"item": "lamp"})) + chat("Both at once."),
        '{"message": "", "next": {"type": "actions", "actions": [{"name": "stock", "args": {"item": NaN}}]}}',
        '{"next": {"type": "actions", "actions": [{"name": "stock", "args": {"item": 1e400}}]}}',
        '{"message": "", "next": ' + "[" * 20_000 + "]" * 20_000 + "}",
    ],
)
def test_a_cut_or_formless_answer_does_nothing_and_is_asked_for_again(cut: str) -> None:
    model = TextModel([cut, chat("Whole.")])
    result = turn(model)
    assert (result.answer.text, result.calls) == ("Whole.", ())
    assert len(model.requests) == 2


def test_an_answer_cut_by_the_output_limit_is_asked_for_again_once() -> None:
    model = TextModel([act("", ("stock", {"item": "lamp"})), chat("Short.")], stops=[Stop.LENGTH])
    result = turn(model)
    assert (result.answer.text, result.calls) == ("Short.", ())
    assert "cut by the output limit" in model.requests[1].items[-1].text  # type: ignore[union-attr]  # a text


def test_a_models_own_blocks_are_kept_and_sent_again() -> None:
    thought = Opaque("text", {"thought": "hm"})
    model = TextModel([act("", ("stock", {"item": "lamp"})), chat("4")], before=(thought,))
    turn(model)
    assert model.requests[1].items[1] == thought


def test_an_undeclared_action_is_asked_for_again_with_the_nearest() -> None:
    model = TextModel([act("", ("stok", {"item": "lamp"})), act("", ("stock", {"item": "lamp"})), chat("4")])
    result = turn(model)
    assert result.answer.text == "4"
    correction = model.requests[1].items[-1]
    assert isinstance(correction, Text)
    assert "no action is named 'stok'; did you mean 'stock'?" in correction.text
    assert result.answer.usage.uncached == 30
    assert [row.kind for row in result.rows] == ["user", "assistant", "result", "assistant"]


def test_the_wrong_form_twice_fails_the_run() -> None:
    result = turn(TextModel(["I would rather talk.", "Still talking."]))
    assert result.answer.status is RunStatus.FAILED
    assert "malformed" in result.answer.error
    assert result.answer.usage.uncached == 20


def test_wrong_arguments_are_refused_as_with_any_model() -> None:
    model = TextModel([act("", ("stock", {"itm": "lamp"})), chat("Sorry.")])
    assert turn(model).calls[0].result.code == "UNKNOWN_ARGUMENT"


def test_without_actions_a_model_simply_talks() -> None:
    model = TextModel(["Just talking."])
    result = run_turn(Agent(model=model), "Hello")
    assert result.answer.text == "Just talking."
    assert model.requests[0].system == ()


@pytest.mark.parametrize(
    ("step", "call"),
    [
        ({"type": "for_each", "args": {"items": [1]}}, ("for_each", {"items": [1]})),
        ({"type": "for_each", "items": [1]}, ("for_each", {"items": [1]})),
        (
            {"type": "sub_agent", "agent": "Mail Clerk", "message": "Go"},
            ("delegate_to_mail_clerk", {"message": "Go"}),
        ),
    ],
)
def test_a_step_may_be_one_action_by_its_type(step: Any, call: tuple[str, Any]) -> None:
    found = parse(json.dumps({"message": "", "next": step}), ["for_each", "delegate_to_mail_clerk"])
    assert [(name, json.loads(args)) for name, args in found.actions] == [call]


def test_a_sub_agent_that_is_not_there_is_said() -> None:
    step = {"type": "sub_agent", "agent": "clerc", "message": "Go"}
    with pytest.raises(
        FormError, match="no action is named 'delegate_to_clerc'; did you mean 'delegate_to_clerk'"
    ):
        parse(json.dumps({"next": step}), ["delegate_to_clerk"])
