"""Whole turns: kernel, real SDK, wire server; both protocols, and a model told of its tools in text."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from wakeful import action
from wakeful.app import Agent
from wakeful.types import ActionEnded, Answer, ReplyReceived, RunEnded, RunStatus, TextDelta, TextWithdrawn

EACH = pytest.mark.parametrize("stream", [False, True])
BOTH = pytest.mark.parametrize("api", ["responses", "chat"])
DONE: list[int] = []


@action(effect="read")
def add(a: int) -> int:
    """Add one."""
    DONE.append(a)
    return a + 1


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


def agent(wire: Any, **settings: Any) -> Agent:
    own = {"base_url": wire.openai_url, "api_key": "sk-test-1234567"} | settings
    return Agent(
        model="openai:gpt-5.2", actions=[add], instructions="Be brief. " * 900, settings={"openai": own}
    )


async def turn(app: Any, text: str, clock: Any = None) -> tuple[Answer, list[Any]]:
    async def collect() -> list[Any]:
        return [event async for event in app.stream("agent", text, conversation="conv-1")]

    running = asyncio.create_task(collect())
    while clock is not None and not running.done():
        await asyncio.sleep(0.005)  # for the server, which lives in real time
        clock.advance(0.1)  # for the pauses between tries
    events = await running
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    return ended.answer, events


@BOTH
@EACH
async def test_a_conversation_of_two_turns(api: str, stream: bool, wire: Any, wakeful_app: Any) -> None:
    calls = [{"tool": "add", "args": {"a": 1}}, {"tool": "add", "args": {"a": 5}}]
    wire.play([{"thinking": "Hm.", "text": "Let me add.", "calls": calls}, "Seven.", "Still seven."])
    async with wakeful_app(agent(wire, api=api, stream=stream)) as app:
        first, events = await turn(app, "Add them.")
        second, _ = await turn(app, "And now?")
    assert (first.text, second.text, sorted(DONE)) == ("Seven.", "Still seven.", [1, 5])
    assert [event.result.outputs for event in events if isinstance(event, ActionEnded)] == [
        {"result": 2},
        {"result": 6},
    ]
    shown = "".join(event.text for event in events if isinstance(event, TextDelta) and not event.thinking)
    assert shown == ("Let me add.Seven." if stream else "")
    assert second.usage.read > 0.9 * second.usage.input
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()


@BOTH
@pytest.mark.parametrize("fault", ["truncate", "bad_json", "error_event"])
async def test_a_broken_reply_is_asked_for_again_and_acted_on_once(
    api: str, fault: str, wire: Any, wakeful_app: Any, clock: Any
) -> None:
    call = {"text": "word " * 60, "calls": [{"tool": "add", "args": {"a": 1}}]}
    wire.play([{**call, "error": {"stream": fault}}, call, "Two."])
    async with wakeful_app(agent(wire, api=api)) as app:
        answer, events = await turn(app, "Add.", clock)
    assert (answer.text, answer.status, DONE) == ("Two.", RunStatus.COMPLETED, [1])
    assert len([event for event in events if isinstance(event, TextWithdrawn)]) == 1
    assert len([event for event in events if isinstance(event, ReplyReceived)]) == 2


@BOTH
async def test_a_call_that_was_cut_is_not_run_and_the_model_told(
    api: str, wire: Any, wakeful_app: Any
) -> None:
    cut = {"calls": [{"tool": "add", "args": {"a": 123456}, "cut": 8}], "stop": "max_tokens"}
    wire.play([cut, {"calls": [{"tool": "add", "args": {"a": 1}}]}, "Two."])
    async with wakeful_app(agent(wire, api=api)) as app:
        answer, _ = await turn(app, "Add.")
    assert (answer.text, DONE) == ("Two.", [1])


@BOTH
async def test_a_refusal_ends_the_turn(api: str, wire: Any, wakeful_app: Any) -> None:
    wire.play([{"refusal": "No.", "stop": "refusal"}])
    async with wakeful_app(agent(wire, api=api)) as app:
        answer, _ = await turn(app, "Do harm.")
    assert (answer.status, answer.text) == (RunStatus.FAILED, "No.")
    assert answer.error.startswith("refused")
    assert answer.usage.input > 0


@BOTH
async def test_usage_of_failed_tries_is_in_the_answer(
    api: str, wire: Any, wakeful_app: Any, clock: Any
) -> None:
    wire.play([{"text": "x", "error": {"kind": "overloaded"}}, "Hi."])
    async with wakeful_app(agent(wire, api=api)) as app:
        answer, _ = await turn(app, "Hello.", clock)
    assert (answer.text, answer.usage.reported) == ("Hi.", True)


async def test_a_model_without_tools_acts_through_text(wire: Any, wakeful_app: Any) -> None:
    step = {"message": "Adding.", "next": {"type": "actions", "actions": [{"name": "add", "args": {"a": 1}}]}}
    end = {"message": "Two.", "next": {"type": "complete"}}
    wire.play([json.dumps(step), json.dumps(end)])
    async with wakeful_app(agent(wire, models={"gpt-5.2": {"native_tools": False}})) as app:
        answer, _ = await turn(app, "Add.")
    assert (answer.text, DONE) == ("Two.", [1])
    first, second = wire.requests
    assert "tools" not in first
    assert "## add" in first["messages"][0]["content"]
    assert second["messages"][2] == {"role": "assistant", "content": json.dumps(step)}
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()


async def test_tool_calling_of_the_file_has_the_same_effect(
    wire: Any, wakeful_app: Any, tmp_path: Any
) -> None:
    (tmp_path / "wakeful.toml").write_text(
        '[agents.agent]\nmodel = "openai:gpt-5.2"\ntool_calling = "envelope"\n'
        'actions = ["openai_envelope_tools:*"]\n\n'
        f'[plugins.openai]\nbase_url = "{wire.openai_url}"\n'
    )
    (tmp_path / "openai_envelope_tools.py").write_text(
        "from wakeful import action\n\n\n"
        '@action(effect="read")\ndef ping() -> str:\n    """Ping."""\n    return "pong"\n'
    )
    wire.play([json.dumps({"message": "Hello.", "next": {"type": "chat"}})])
    async with wakeful_app(tmp_path / "wakeful.toml") as app:
        answer, _ = await turn(app, "Hi.")
    assert answer.text == "Hello."
    assert "# How to answer" in wire.requests[0]["messages"][0]["content"]
