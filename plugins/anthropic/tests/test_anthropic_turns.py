"""Whole turns through the application, against the wire server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from wakeful import action
from wakeful.app import App
from wakeful.types import ActionEnded, ActionResult, Answer, ReplyReceived, RunEnded, RunStatus, TextDelta

Desk = Callable[..., AbstractAsyncContextManager[App]]

THINKS = {
    "thinking": "The key is a.",
    "text": "Let me look.",
    "calls": [{"tool": "look", "args": {"key": "a"}}],
}


@action(effect="read")
def look(key: str) -> str:
    """Look something up."""
    return f"value of {key}"


@action(effect="read")
def fail() -> ActionResult:
    """Fail."""
    return ActionResult(success=False, code="NO_LUCK", message="It did not work.")


async def play(app: App, *texts: str) -> tuple[list[Any], list[Answer]]:
    events = [event for text in texts async for event in app.stream("agent", text, conversation="c-1")]
    return events, [event.answer for event in events if isinstance(event, RunEnded)]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_conversation_over_two_turns_keeps_its_prefix(wire: Any, desk: Desk, stream: bool) -> None:
    wire.play([THINKS, "It is 1.", "You are welcome."])
    async with desk(look, stream=stream) as app:
        events, answers = await play(app, "What is a?", "Thanks")
    assert [answer.text for answer in answers] == ["It is 1.", "You are welcome."]
    assert [request.get("stream", False) for request in wire.requests] == [stream] * 3
    assert (wire.summary()["prefix_breaks"], wire.summary()["tail_replacements"]) == (0, 0), wire.explain()
    shown = "".join(event.text for event in events if isinstance(event, TextDelta) and not event.thinking)
    assert shown == ("Let me look.It is 1.You are welcome." if stream else "")
    thought = wire.requests[2]["messages"][1]["content"][0]
    assert thought["type"] == "thinking"
    assert thought["signature"]


@pytest.mark.parametrize("stream", [True, False])
async def test_parallel_calls_are_answered_in_one_message_in_their_order(
    wire: Any, desk: Desk, stream: bool
) -> None:
    calls = [{"tool": "look", "args": {"key": key}} for key in "abc"]
    wire.play([{"calls": calls}, "Done."])
    async with desk(look, stream=stream) as app:
        events, (answer,) = await play(app, "Look.")
    assert answer.status is RunStatus.COMPLETED
    last = wire.requests[1]["messages"][-1]
    assert [part["type"] for part in last["content"]] == ["tool_result"] * 3
    assert ["value of a" in last["content"][0]["content"], "value of c" in last["content"][2]["content"]] == [
        True
    ] * 2
    assert len([event for event in events if isinstance(event, ActionEnded)]) == 3


async def test_a_failed_result_says_so(wire: Any, desk: Desk) -> None:
    wire.play([{"calls": [{"tool": "fail", "args": {}}]}, "Pity."])
    async with desk(fail) as app:
        await play(app, "Try.")
    (result,) = wire.requests[1]["messages"][-1]["content"]
    assert result["is_error"] is True
    assert "NO_LUCK" in result["content"]


@pytest.mark.parametrize("stream", [True, False])
async def test_thoughts_return_unchanged_where_the_server_checks_them(
    wire: Any, desk: Desk, stream: bool
) -> None:
    hidden = {**THINKS, "redacted": "Nobody reads this."}
    wire.play([THINKS, hidden, "It is 1."])
    async with desk(look, model="claude-haiku-4-5", thinking_tokens=2048, stream=stream) as app:
        _, (answer,) = await play(app, "What is a?")
    assert answer.text == "It is 1."
    assert wire.requests[0]["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    kinds = [part["type"] for message in wire.requests[2]["messages"] for part in message["content"]]
    assert kinds.count("thinking") == 2
    assert kinds.count("redacted_thinking") == 1


@pytest.mark.parametrize("stream", [True, False])
async def test_a_refusal_fails_the_turn_and_says_why(wire: Any, desk: Desk, stream: bool) -> None:
    wire.play([{"refusal": "I do not help with that."}])
    async with desk(stream=stream) as app:
        _, (answer,) = await play(app, "Do harm.")
    assert answer.status is RunStatus.FAILED
    assert answer.error == "refused: anthropic:claude-sonnet-5: the model refused: I do not help with that."
    assert answer.usage.total > 0


async def test_calls_of_a_refused_reply_are_not_made(wire: Any, desk: Desk) -> None:
    wire.play([{"text": "Well,", "calls": [{"tool": "look", "args": {"key": "a"}}], "stop": "refusal"}])
    async with desk(look) as app:
        events, (answer,) = await play(app, "Look.")
    assert answer.error.startswith("refused")
    assert not [event for event in events if isinstance(event, ActionEnded)]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_call_cut_by_the_output_limit_is_not_made_and_asked_for_again(
    wire: Any, desk: Desk, stream: bool
) -> None:
    ran = []

    @action(effect="write")
    def note(text: str) -> str:
        """Write a note."""
        ran.append(text)
        return "ok"

    call = {"tool": "note", "args": {"text": "a long note"}}
    wire.play([{"calls": [{**call, "cut": True}], "stop": "max_tokens"}, {"calls": [call]}, "Noted."])
    async with desk(note, stream=stream) as app:
        _, (answer,) = await play(app, "Note it.")
    assert answer.text == "Noted."
    assert ran == ["a long note"]


async def test_arguments_that_are_no_json_are_told_and_sent_back_as_written(wire: Any, desk: Desk) -> None:
    wire.play([{"calls": [{"tool": "look", "args": {}, "raw": '{"key": nope}'}]}, "Sorry."])
    async with desk(look) as app:
        _, (answer,) = await play(app, "Look.")
    assert answer.text == "Sorry."
    call, result = (
        wire.requests[1]["messages"][1]["content"][0],
        wire.requests[1]["messages"][2]["content"][0],
    )
    assert call["input"] == {"INVALID_JSON": '{"key": nope}'}
    assert result["is_error"] is True


async def test_a_paused_turn_goes_on_with_its_blocks_as_they_are(wire: Any, desk: Desk) -> None:
    search = [{"tool": "web_search", "args": {"query": "weather"}}]
    wire.play([{"text": "Searching.", "server": search, "stop": "pause_turn"}, "Sunny."])
    async with desk() as app:
        _, (answer,) = await play(app, "Weather?")
    assert answer.text == "Sunny."
    last = wire.requests[1]["messages"][-1]
    assert last["role"] == "assistant"
    assert [part["type"] for part in last["content"]] == ["text", "server_tool_use"]
    assert last["content"][1]["input"] == {"query": "weather"}


async def test_the_providers_own_search_finds_deferred_tools(wire: Any, desk: Desk) -> None:
    wire.play([{"calls": [{"tool": "look", "args": {"key": "a"}}]}, "It is 1."])
    async with desk(look, fail, tool_search="bm25", tool_search_keep=("fai*",)) as app:
        _, (answer,) = await play(app, "What is a?")
    assert answer.text == "It is 1."
    declared = {tool["name"]: tool.get("defer_loading", False) for tool in wire.requests[0]["tools"]}
    assert declared == {"tool_search_tool_bm25": False, "fail": False, "look": True}
    kinds = [part["type"] for part in wire.requests[1]["messages"][1]["content"]]
    assert kinds == ["server_tool_use", "tool_search_tool_result", "tool_use"]
    assert wire.summary()["prefix_breaks"] == 0


async def test_replies_and_their_cost_are_stored(wire: Any, desk: Desk) -> None:
    wire.play([THINKS, "It is 1."])
    async with desk(look) as app:
        events, (answer,) = await play(app, "What is a?")
    replies = [event.reply.usage for event in events if isinstance(event, ReplyReceived)]
    assert answer.usage == replies[0] + replies[1]
    assert answer.usage.cost == pytest.approx((answer.usage.input * 2 + answer.usage.output * 10) / 1e6)


async def test_many_conversations_at_once_share_one_client(wire: Any, desk: Desk) -> None:
    wire.play([THINKS, "Done."])
    async with desk(look) as app:
        asking = (app.send("agent", f"[[conv:c{n}]] Look.", conversation=f"c{n}") for n in range(40))
        answers = await asyncio.gather(*asking)
    assert {answer.text for answer in answers} == {"Done."}
    assert wire.summary()["conversations"] == 40
    assert wire.summary()["prefix_breaks"] == 0


async def test_cancelling_a_turn_closes_the_stream_at_once(wire: Any, desk: Desk) -> None:
    wire.play([{"text": "word " * 100, "hold_at": 4}])
    async with desk() as app:
        task = asyncio.create_task(app.send("agent", "Talk.", conversation="c-1"))
        await wire.reached(held=1)
        task.cancel()
        await asyncio.wait([task])
        await wire.reached(left=1)  # while the server still holds the rest of the reply
    assert task.cancelled() or task.result().status is RunStatus.CANCELLED
