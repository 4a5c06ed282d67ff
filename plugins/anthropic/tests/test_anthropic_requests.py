"""What a request becomes: messages that the API takes, breakpoints where they belong, bytes that stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counts import examples
from wakeful.types import Call, Item, Marks, Opaque, Request, Result, Text, Tool
from wakeful_anthropic.messages import BEGINNING, NO_RESULT, Encoder, Fixed

from .conftest import LOOK, asked

Bind = Callable[..., Any]

MARK = {"type": "ephemeral"}
THOUGHT = Opaque("anthropic", {"type": "thinking", "thinking": "Hm.", "signature": "s"})


def encoder(**fixed: Any) -> Encoder:
    return Encoder(Fixed(**{"model": "m", "params": {}, "marker": MARK, "breakpoints": 4, **fixed}))


def body(request: Request, **fixed: Any) -> Any:
    return json.loads(encoder(**fixed).body(request, max_tokens=100, stream=False))


def messages(*items: Item | str, **marks: Any) -> Any:
    return body(asked(*items, **marks))["messages"]


def marked(value: Any) -> list[str]:
    """Return where breakpoints stand, as paths."""
    found = [f"tools[{n}]" for n, tool in enumerate(value.get("tools", [])) if "cache_control" in tool]
    found += [f"system[{n}]" for n, part in enumerate(value.get("system", [])) if "cache_control" in part]
    for m, message in enumerate(value["messages"]):
        found += [f"{m}.{n}" for n, part in enumerate(message["content"]) if "cache_control" in part]
    return found


def test_a_step_becomes_one_message_of_the_model_and_one_of_the_user() -> None:
    told = messages(
        "Look.",
        THOUGHT,
        Text("assistant", "Looking."),
        Call("t1", "look", '{"key":"a"}'),
        Call("t2", "look", "{}"),
        Result("t1", "one"),
        Result("t2", "two", failed=True),
        Text("user", "<runtime-state>x</runtime-state>"),
    )
    assert [message["role"] for message in told] == ["user", "assistant", "user"]
    assert [part["type"] for part in told[1]["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert [part["type"] for part in told[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert [part.get("is_error") for part in told[2]["content"]] == [None, True, None]


def test_results_stand_before_texts_that_came_earlier() -> None:
    told = messages("Look.", Call("t1", "look", "{}"), "Hurry up!", Result("t1", "one"))
    assert [part["type"] for part in told[2]["content"]] == ["tool_result", "text"]


def test_what_is_blank_is_left_out_and_roles_alternate() -> None:
    told = messages(
        "", "Hello", Text("assistant", " \n"), "again", Text("assistant", "Yes?"), Text("assistant", "")
    )
    assert [(message["role"], len(message["content"])) for message in told] == [("user", 2), ("assistant", 1)]


def test_the_first_message_is_the_users() -> None:
    told = messages(Text("assistant", "Hello!"), "Hi")
    assert told[0] == {"role": "user", "content": [{"type": "text", "text": BEGINNING}]}
    assert messages() == told[:1]


def test_blocks_of_other_providers_are_left_out() -> None:
    told = messages("Hi", Opaque("openai", {"type": "reasoning"}), Opaque("anthropic", "no block"), "there")
    assert [(message["role"], len(message["content"])) for message in told] == [("user", 2)]


@pytest.mark.parametrize("unsigned", [{}, {"signature": ""}, {"signature": None}])
def test_thinking_that_was_cut_before_it_was_signed_is_left_out(unsigned: dict[str, Any]) -> None:
    cut = Opaque("anthropic", {"type": "thinking", "thinking": "Hm", **unsigned})
    told = messages("Hi", THOUGHT, Text("assistant", "Well,"), cut, "Go on.")
    assert [part["type"] for part in told[1]["content"]] == ["thinking", "text"]
    assert messages("Hi", cut, "Go on.") == messages("Hi", "Go on.")


def test_a_call_without_a_result_and_a_result_without_a_call_are_made_legal() -> None:
    told = messages("Look.", Call("t1", "look", "{}"), Call("t2", "look", "{}"), Result("t2", "two"), "Well?")
    assert [part.get("tool_use_id") for part in told[2]["content"]] == ["t2", "t1", None]
    assert told[2]["content"][1]["content"] == NO_RESULT
    ended = messages("Look.", Call("t1", "look", "{}"))
    assert ended[2]["content"] == [{"type": "tool_result", "tool_use_id": "t1", "content": NO_RESULT}]
    orphan = messages(Result("t0", "zero"), "Go on.")
    assert orphan[0]["content"][0] == {"type": "text", "text": "Result of an earlier call:\nzero"}


@pytest.mark.parametrize(
    ("args", "sent"),
    [
        ('{"b": 1.0, "a": [1e3]}', '{"b": 1.0, "a": [1e3]}'),
        ("", "{}"),
        ('{"key": "caf\\u00e9"}', '{"key": "caf\\u00e9"}'),
        ('{"key": "\\ud800"}', '{"key":"\N{REPLACEMENT CHARACTER}"}'),
        ('{"key": ', '{"INVALID_JSON":"{\\"key\\": "}'),
        ("[1]", '{"INVALID_JSON":"[1]"}'),
        ('{"key": NaN}', '{"INVALID_JSON":"{\\"key\\": NaN}"}'),
    ],
)
def test_arguments_are_sent_in_the_models_own_bytes(args: str, sent: str) -> None:
    data = encoder().body(asked("x", Call("t1", "look", args), Result("t1", "")), max_tokens=1, stream=False)
    assert f'"input":{sent}}}'.encode() in data


def test_keys_of_own_blocks_keep_their_order() -> None:
    block = {"type": "server_tool_use", "name": "n", "id": "s1", "input": {"z": 1, "a": 2}}
    data = encoder().body(asked("x", Opaque("anthropic", block)), max_tokens=1, stream=False)
    assert json.dumps(block, separators=(",", ":")).encode() in data


def test_ids_and_names_that_the_api_refuses_are_changed_alike_in_calls_and_results() -> None:
    told = messages("x", Call("functions.x:0", "a tool!" + "y" * 80, "{}"), Result("functions.x:0", "1"))
    call, result = told[1]["content"][0], told[2]["content"][0]
    assert call["id"] == result["tool_use_id"]
    assert call["id"].replace("_", "").isalnum()
    assert len(call["name"]) == 64


def test_breakpoints_stand_on_the_last_tool_the_last_section_and_the_marked_items() -> None:
    items = ("one", Text("assistant", "two"), "three")
    flat = tuple(item if isinstance(item, Text) else Text("user", item) for item in items)
    marks = Marks(tools=True, system=True, items=frozenset({0, 2}))
    request = Request("m", (LOOK, LOOK), ("a", "b", " "), flat, marks)
    assert marked(body(request)) == ["tools[1]", "system[1]", "0.0", "2.0"]
    assert body(request, marker={**MARK, "ttl": "1h"})["tools"][1]["cache_control"] == {**MARK, "ttl": "1h"}


def test_there_are_at_most_four_breakpoints_and_the_latest_stay() -> None:
    items = [Text("assistant" if n % 2 else "user", str(n)) for n in range(7)]
    request = Request(
        "m", (LOOK,), ("a",), tuple(items), Marks(tools=True, system=True, items=frozenset(range(7)))
    )
    assert marked(body(request)) == ["tools[0]", "system[0]", "5.0", "6.0"]
    assert marked(body(request, breakpoints=1)) == ["tools[0]"]
    own = {"type": "web_search_20260209", "name": "web_search", "cache_control": MARK}
    assert marked(body(request, server_tools=(own,)))[:2] == ["tools[0]", "tools[1]"]
    assert len(marked(body(request, server_tools=(own,)))) == 4


def test_a_breakpoint_moves_before_what_takes_none() -> None:
    items = ("one", Text("assistant", "two"), THOUGHT, "", "state")
    assert marked({"messages": messages(*items, items=frozenset({3}))}) == ["1.0"]
    assert marked({"messages": messages(*items, items=frozenset({99}))}) == ["2.0"]
    assert marked({"messages": messages(THOUGHT, items=frozenset({0}))}) == []


def test_a_choice_of_tools_is_sent_with_tools_only() -> None:
    params = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}, "output_config": {}}
    without = Request("m", (), (), (Text("user", "x"),))
    assert body(asked("x"), params=params)["tool_choice"] == params["tool_choice"]
    assert sorted(body(without, params=params)) == ["max_tokens", "messages", "model", "output_config"]
    assert "tool_choice" in body(without, params=params, server_tools=({"type": "web", "name": "web"},))


def test_a_deferred_tool_takes_no_breakpoint() -> None:
    tools = [Tool(name, "d", {"type": "object"}) for name in ("keep_1", "other")]
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    request = Request("m", tuple(tools), (), (Text("user", "x"),), Marks(tools=True))
    told = body(request, deferring=True, keep=("keep_*",), search=search)
    assert [tool.get("defer_loading") for tool in told["tools"]] == [None, None, True]
    assert marked(told) == ["tools[1]"]
    assert marked(body(request, deferring=True, search=search)) == ["tools[0]"]


def test_tools_that_say_so_are_deferred_behind_the_providers_search() -> None:
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    tools = (Tool("seen", "d", {"type": "object"}), Tool("unseen", "d", {"type": "object"}, deferred=True))
    request = Request("m", tools, (), (Text("user", "x"),), Marks(tools=True))
    told = body(request, search=search)
    assert [(tool["name"], tool.get("defer_loading")) for tool in told["tools"]] == [
        ("tool_search_tool_bm25", None),
        ("seen", None),
        ("unseen", True),
    ]
    assert marked(told) == ["tools[1]"]
    without = body(request)  # a model without the search: everything is declared as ever
    assert [(tool["name"], tool.get("defer_loading")) for tool in without["tools"]] == [
        ("seen", None),
        ("unseen", None),
    ]
    assert [tool["name"] for tool in body(asked("x"), search=search)["tools"]] == ["look"]


def test_a_search_that_found_a_tool_of_another_time_is_left_out() -> None:
    def found(name: str) -> tuple[Opaque, Opaque]:
        call = {"type": "server_tool_use", "id": f"s_{name}", "name": "tool_search_tool_bm25", "input": {}}
        content = {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": name}],
        }
        answer = {"type": "tool_search_tool_result", "tool_use_id": f"s_{name}", "content": content}
        return Opaque("anthropic", call), Opaque("anthropic", answer)

    told = messages("Look.", *found("look"), *found("gone"), Text("assistant", "Found."))
    ids = [part.get("id") or part.get("tool_use_id") for part in told[1]["content"]]
    assert ids == ["s_look", "s_look", None]


TEXTS = st.text(st.characters(codec=None), max_size=12)
ITEMS = st.one_of(
    st.builds(Text, st.sampled_from(["user", "assistant"]), TEXTS),
    st.builds(Call, st.sampled_from(["a", "b", "c!"]), TEXTS, st.one_of(TEXTS, st.just('{"x":1}'))),
    st.builds(Result, st.sampled_from(["a", "b", "c!"]), TEXTS, st.booleans()),
    st.builds(Opaque, st.just("anthropic"), st.just({"type": "thinking", "thinking": "", "signature": "s"})),
    st.builds(Opaque, st.just("openai"), st.just({"type": "reasoning"})),
)


@settings(max_examples=examples(2000), deadline=None)
@given(st.lists(ITEMS, max_size=14), st.frozensets(st.integers(0, 15), max_size=6))
def test_any_transcript_becomes_messages_that_the_api_takes(items: list[Item], marks: frozenset[int]) -> None:
    request = Request("m", (LOOK,), ("s",), tuple(items), Marks(tools=True, system=True, items=marks))
    own = encoder()
    data = own.body(request, max_tokens=1, stream=True)
    told = json.loads(data.decode("utf-8"))
    roles = [message["role"] for message in told["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
    assert len(marked(told)) <= 4
    waiting: list[str] = []
    for message in told["messages"]:
        parts = message["content"]
        assert parts
        answered = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        assert sorted(answered) == sorted(set(waiting))
        assert [part["type"] for part in parts[: len(answered)]] == ["tool_result"] * len(answered)
        assert all(part["text"].strip() for part in parts if part["type"] == "text")
        assert not any("cache_control" in part for part in parts if part["type"] == "thinking")
        waiting = [part["id"] for part in parts if part["type"] == "tool_use"]
    assert not waiting
    assert own.body(request, max_tokens=1, stream=True) == data  # from memory


def test_memory_stays_within_its_limit_and_gives_the_same_bytes() -> None:
    from wakeful_anthropic.blocks import Memory

    own = encoder()
    own.memory = Memory(limit=20_000)
    items = [Text("user", f"{n} " + "word " * 50) for n in range(400)]
    for end in (100, 400, 50, 400):
        assert own.body(asked(*items[:end]), max_tokens=1, stream=False) == encoder().body(
            asked(*items[:end]), max_tokens=1, stream=False
        )
        assert len(own.memory._young) + len(own.memory._old) < 80  # noqa: SLF001  (the bound is what is tested)


async def test_parameters_follow_the_settings(wire: Any, bind: Bind) -> None:
    wire.play(["Hello."] * 3)
    await bind(wire.url, effort="low", parallel_calls=False, betas=("a-1", "b-2")).complete(asked("Hi"), "c")
    await bind(wire.url, thinking_tokens=4096, max_tokens=5000).complete(asked("Hi"), "c")
    await bind(f"{wire.url}/v1/", "claude-haiku-4-5", thinking_tokens=4096).complete(asked("Hi"), "c")
    first, second, third = wire.requests
    assert first["output_config"] == {"effort": "low"}
    assert first["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert (first["max_tokens"], first["model"]) == (21_333, "claude-sonnet-5")
    assert second["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert ("thinking" in first, second["max_tokens"]) == (False, 5000)
    assert third["thinking"] == {"type": "enabled", "budget_tokens": 4096}


async def test_what_is_marked_is_read_from_the_cache_by_the_next_request(wire: Any, bind: Bind) -> None:
    wire.play(["Hello.", "Again."])
    model, rules = bind(wire.url, cache_ttl="1h"), "Rules. " * 1500
    first = await model.complete(asked("Hi", system=(rules,), items=frozenset({0})), "c")
    second = await model.complete(
        asked("Hi", *first.items, "More", system=(rules,), items=frozenset({0, 2})), "c"
    )
    assert first.usage.write > 1000
    assert second.usage.read == first.usage.write
    assert second.usage.cost == pytest.approx(
        (
            second.usage.read * 0.2
            + second.usage.write * 4
            + second.usage.uncached * 2
            + second.usage.output * 10
        )
        / 1e6
    )
    assert model.profile.cache_ttl == 3600
