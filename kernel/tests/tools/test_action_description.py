from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st

from wakeful import Action, ActionContext, ActionResult, Param
from wakeful.tools.describe import declare_tool, describe, shrink
from wakeful.types import Json, ResultCode, canonical


async def run(args: Any, context: ActionContext) -> ActionResult:
    return ActionResult()


def act(description: str = "Send a letter.", **more: Any) -> Action:
    return Action("Send", description, more.pop("schema", {"type": "object", "properties": {}}), run, **more)


CODES = (ResultCode("SUCCESS", success=True, description="Sent."), ResultCode("BOUNCED", success=False))


def test_the_description_says_when_what_comes_back_and_which_codes() -> None:
    outputs = (
        Param("the id", name="id", direction="output"),
        Param("input", name="to"),
        Param(name="b", direction="both"),
    )
    assert describe(act(params=outputs, result_codes=CODES)) == (
        "Send a letter.\n\nReturns id: the id; b\nResult codes: SUCCESS ✓ Sent; BOUNCED ✗"
    )
    assert describe(act("")) == "Send"


def outputs(count: int, length: int) -> tuple[Param, ...]:
    return tuple(
        Param("word " * (length // 5), name=f"p{number}", direction="output") for number in range(count)
    )


def test_texts_of_outputs_shrink_before_the_description_is_cut() -> None:
    long = "Call it when a customer wrote. " * 20
    for count, most in ((2, 160), (3, 110), (5, 70), (8, 40)):
        text = describe(act(long[:500], params=outputs(count, 400), result_codes=CODES))
        assert len(text) <= 1024
        assert text.startswith(long[:500].strip())
        shown = text.split("p0: ")[1].split(";")[0]
        assert shown.endswith("…")
        assert most - 10 <= len(shown) <= most
    text = describe(act(long[:500], params=outputs(30, 400), result_codes=CODES))
    assert "Returns p0; p1; p2;" in text
    assert text.endswith("Result codes: SUCCESS ✓ Sent; BOUNCED ✗")


def test_a_description_that_is_too_long_is_cut_between_words_and_keeps_its_codes() -> None:
    text = describe(act("many words " * 200, result_codes=CODES))
    assert len(text) <= 1024
    assert "…\n\nResult codes: SUCCESS ✓; BOUNCED ✗" in text
    codes = tuple(ResultCode(f"CODE_{number}", success=False) for number in range(300))
    text = describe(act("many words " * 200, result_codes=codes))
    assert len(text) <= 1024
    assert text.startswith("many words")


def schema(count: int, length: int) -> Json:
    inner = {"type": "object", "properties": {"description": {"type": "string", "description": "y" * length}}}
    named = {f"p{number}": {"type": "string", "description": "x" * length} for number in range(count)}
    return {"type": "object", "properties": {"deep": {"type": "array", "items": inner}, **named}}


def test_parameter_texts_shrink_step_by_step_only_when_they_are_too_long_together() -> None:
    assert declare_tool(act(schema=schema(1, 500))).schema == act(schema=schema(1, 500)).schema
    for count, length in ((5, 160), (8, 110), (13, 70), (24, 40), (40, 0)):
        shown = declare_tool(act(schema=schema(count, 500))).schema["properties"]
        assert len(shown["p0"].get("description", "")) == length
        deep = shown["deep"]["items"]["properties"]
        assert list(deep) == ["description"]
        assert len(deep["description"].get("description", "")) == length


def test_the_action_itself_keeps_its_texts() -> None:
    action = act(schema=schema(40, 500))
    declare_tool(action)
    assert len(action.schema["properties"]["p0"]["description"]) == 500


def test_the_tool_is_the_same_whatever_order_the_schema_was_written_in() -> None:
    first = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}}
    second = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "type": "object"}
    tools = [attrs.asdict(declare_tool(act(schema=given))) for given in (first, second)]
    assert str(tools[0]) == str(tools[1])
    assert canonical(tools[0]) == canonical(tools[1])


@given(st.text(), st.integers(0, 200))
def test_shrinking_keeps_to_its_length_and_to_the_start_of_the_text(text: str, length: int) -> None:
    short = shrink(text, length)
    assert len(short) <= max(length, 0) or short == text
    assert text.startswith(short.removesuffix("…"))
