"""Deferred tools and OpenAI's own search for them."""

from __future__ import annotations

import json
from typing import Any

from wakeful.types import Call, Marks, Opaque, Result, Text, Tool

SEEN = Tool("seen", "Seen.", {"type": "object"})
UNSEEN = Tool("unseen", "Unseen.", {"type": "object"}, deferred=True)
TOOLS = (SEEN, UNSEEN)
FOUND = (
    {"type": "tool_search_call", "id": "tsc_1", "execution": "server", "arguments": {"paths": ["unseen"]}},
    {"type": "tool_search_output", "id": "tso_1", "execution": "server", "tools": []},
)
CALL = {"type": "function_call", "call_id": "c1", "name": "unseen", "arguments": "{}", "namespace": "unseen"}


def declared(request: Any) -> list[tuple[Any, Any]]:
    return [
        (tool.get("name") or tool["type"], tool.get("defer_loading"))
        for tool in (each.get("function", each) for each in request["tools"])
    ]


async def test_deferred_tools_stand_behind_the_providers_search(wire: Any, bench: Any, ask: Any) -> None:
    wire.play(["Hi."] * 4)
    model = bench.bind(wire.openai_url, "gpt-5.4", api="responses")
    assert model.profile.tool_search
    await model.complete(ask("go", tools=TOOLS), "c")
    await model.complete(ask("go", tools=(SEEN,)), "c")
    assert declared(wire.requests[0]) == [("tool_search", None), ("seen", None), ("unseen", True)]
    assert declared(wire.requests[1]) == [("seen", None)]
    for older in (
        bench.bind(wire.openai_url, api="responses"),
        bench.bind(wire.openai_url, "gpt-5.4", api="chat"),
    ):
        assert not older.profile.tool_search
        await older.complete(ask("go", tools=TOOLS), "c")
        assert declared(wire.requests[-1]) == [("seen", None), ("unseen", None)]


async def test_what_was_found_goes_back_as_it_came(raw: Any, wire: Any, bench: Any, ask: Any) -> None:
    raw.answer(
        json.dumps({"status": "completed", "output": [*FOUND, CALL]}).encode(), kind="application/json"
    )
    first = bench.bind(raw.url, "gpt-5.4", api="responses")
    reply = await first.complete(ask("go", tools=TOOLS), "c")
    assert reply.items[-1] == Call("c1", "unseen", "{}")
    items = ("go", *reply.items, Result("c1", "done"))
    wire.play(["Hi."] * 3)
    again = bench.bind(wire.openai_url, "gpt-5.4", api="responses")
    await again.complete(ask(*items, tools=TOOLS, system=()), "c")
    assert wire.requests[0]["input"][1:4] == [*FOUND, {**CALL}]
    await bench.bind(wire.openai_url, "gpt-5.4", api="chat").complete(
        ask(*items, tools=TOOLS, system=()), "c"
    )
    assert wire.requests[1]["messages"][1]["tool_calls"][0]["function"]["name"] == "unseen"


async def test_without_the_search_nothing_of_it_is_sent(wire: Any, bench: Any, ask: Any) -> None:
    note = Opaque("openai", {"type": "call_namespace", "namespace": "unseen"})
    items = (
        "go",
        *(Opaque("openai", each) for each in FOUND),
        note,
        Call("c1", "unseen", "{}"),
        Result("c1", "done"),
        Text("user", "on"),
    )
    wire.play(["Hi."])
    model = bench.bind(wire.openai_url, "gpt-5.6", api="responses")
    await model.complete(ask(*items, tools=(SEEN,), system=(), marks=Marks(items=frozenset({6}))), "c")
    sent = wire.requests[0]["input"]
    assert [item["type"] for item in sent] == ["message", "function_call", "function_call_output", "message"]
    assert "namespace" not in sent[1]
    assert "prompt_cache_breakpoint" in sent[3]["content"][0]
