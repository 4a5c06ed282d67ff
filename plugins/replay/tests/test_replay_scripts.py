"""Scripts: which line answers, and what a line can say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wakeful.types import Call, Item, ModelError, Opaque, Reply, Result, Stop, Text, TextDelta, Usage

THREE = (
    "# a conversation about money",
    '{"calls": [{"tool": "run_query", "args": {"sql": "select 1"}}]}',
    "",
    '{"text": "Ada owes us 12."}',
    '{"text": "Goodbye."}',
)


async def converse(
    bench: Any, ask: Any, answered: Any, name: str, questions: list[str]
) -> tuple[list[Item], list[Reply]]:
    """Play a conversation to the end in steps, with a new plugin for each request."""
    items: list[Item] = []
    replies: list[Reply] = []
    for question in questions:
        items.append(Text("user", question))
        while True:
            reply = await bench.bind(name).complete(ask(*items), "c-1")
            replies.append(reply)
            items += answered(reply)
            if not any(isinstance(item, Call) for item in reply.items):
                break
    return items, replies


async def test_lines_answer_in_order_without_memory(bench: Any, ask: Any, answered: Any) -> None:
    bench.write("three.jsonl", *THREE)
    items, replies = await converse(bench, ask, answered, "three.jsonl", ["Who owes us?", "Thanks"])
    assert [item.text for item in items if isinstance(item, Text)] == [
        "Who owes us?",
        "Ada owes us 12.",
        "Thanks",
        "Goodbye.",
    ]
    assert replies[0].items == (Call("call_1_1", "run_query", '{"sql": "select 1"}'),)
    assert [reply.stop for reply in replies] == [Stop.CALLS, Stop.END, Stop.END]


async def test_the_end_of_a_script_says_how_many_replies_it_has(bench: Any, ask: Any, answered: Any) -> None:
    bench.write("three.jsonl", *THREE)
    items, _ = await converse(bench, ask, answered, "three.jsonl", ["Who owes us?", "Thanks"])
    with pytest.raises(ModelError) as caught:
        await bench.bind("three.jsonl").complete(ask(*items, "More?"), "c-1")
    assert str(caught.value) == "script three.jsonl has 3 replies and the conversation asked for a 4th"
    assert not caught.value.retryable


async def test_every_conversation_starts_at_the_first_line(bench: Any, ask: Any) -> None:
    bench.write("two.jsonl", '{"text": "one"}', '{"text": "two"}')
    model = bench.bind("two.jsonl")
    first = await model.complete(ask("a"), "c-1")
    await model.complete(ask("a", *first.items, "b"), "c-1")
    assert (await model.complete(ask("a"), "c-2")).items == first.items


async def test_asking_again_gives_the_same_line(bench: Any, ask: Any) -> None:
    bench.write("two.jsonl", '{"text": "one"}', '{"text": "two"}')
    model = bench.bind("two.jsonl")
    assert await model.complete(ask("a"), "c") == await model.complete(ask("a"), "c")


async def test_asked_again_after_an_empty_reply_the_script_goes_on(bench: Any, ask: Any) -> None:
    bench.write("odd.jsonl", "{}", '{"text": " "}', '{"text": "at last"}', '{"text": "next"}')
    model = bench.bind("odd.jsonl")
    assert (await model.complete(ask("hello"), "c")).items == ()
    assert (await model.complete(ask("hello"), "other")).items == ()
    assert (await model.complete(ask("hello"), "c")).items == (Text("assistant", " "),)
    last = await model.complete(ask("hello"), "c")
    assert last.items[-1] == Text("assistant", "at last")
    after = await bench.bind("odd.jsonl").complete(ask("hello", *last.items, "more"), "c")
    assert after.items[-1] == Text("assistant", "next")


async def test_replies_in_a_row_use_up_their_lines(bench: Any, ask: Any) -> None:
    bench.write("odd.jsonl", '{"text": "a", "stop": "pause"}', '{"text": "b"}', '{"text": "c"}')
    model, items, said = bench.bind("odd.jsonl"), ["hello"], []
    for following in ([], ["more"], []):
        reply = await model.complete(ask(*items), "c")
        said.append("".join(item.text for item in reply.items if isinstance(item, Text)))
        items += [*reply.items, *following]
    assert said == ["a", "b", "c"]


async def test_a_conversation_whose_beginning_was_left_out_goes_on_at_its_line(bench: Any, ask: Any) -> None:
    bench.write("ten.jsonl", *(json.dumps({"text": f"reply {number}"}) for number in range(1, 11)))
    model, items = bench.bind("ten.jsonl"), []
    for number in range(8):
        items += [f"question {number}"]
        items += (await model.complete(ask(*items), "c")).items
    reply = await model.complete(ask("Summary of what was said.", *items[-2:], "next"), "c")
    assert reply.items[-1] == Text("assistant", "reply 9")


async def test_replies_of_another_model_count_as_one_each(bench: Any, ask: Any) -> None:
    bench.write("two.jsonl", '{"text": "one"}', '{"text": "two"}')
    call = Call("toolu_9", "run_query", "{}")
    request = ask("a", Text("assistant", "Let me look."), call, Result("toolu_9", "12"), "state: none")
    assert (await bench.bind("two.jsonl").complete(request, "c")).items[-1] == Text("assistant", "two")


async def test_a_line_can_say_everything_and_streams_word_by_word(bench: Any, ask: Any) -> None:
    line = {
        "thinking": "Hm, look.",
        "text": "Let me  look.\nOnce.",
        "calls": [
            {"tool": "a", "args": {"z": 1, "a": "é"}},
            {"tool": "b"},
            {"tool": "a", "args": '{"broken'},
        ],
        "stop": "length",
        "usage": {"read": 1, "write": 2, "uncached": 3, "output": 4, "cost": 0.5},
    }
    bench.write("full.jsonl", json.dumps(line))
    heard: list[TextDelta] = []

    async def emit(delta: TextDelta) -> None:
        heard.append(delta)

    reply = await bench.bind("full.jsonl").complete(ask("go"), "c", emit)
    assert reply == Reply(
        (
            Opaque("replay", {"line": 1, "thinking": "Hm, look."}),
            Text("assistant", "Let me  look.\nOnce."),
            Call("call_1_1", "a", '{"z": 1, "a": "é"}'),
            Call("call_1_2", "b", "{}"),
            Call("call_1_3", "a", '{"broken'),
        ),
        Usage(1, 2, 3, 4, 0.5),
        Stop.LENGTH,
    )
    assert [(delta.text, delta.thinking) for delta in heard] == [
        ("Hm, ", True),
        ("look.", True),
        ("Let ", False),
        ("me  ", False),
        ("look.\n", False),
        ("Once.", False),
    ]


async def test_usage_is_estimated_and_says_so(bench: Any, ask: Any) -> None:
    bench.write("one.jsonl", '{"text": "12345678"}')
    request = ask("a question")
    usage = (await bench.bind("one.jsonl").complete(request, "c")).usage
    assert usage == Usage(uncached=-(-len(request.canonical()) // 4), output=2, reported=False)


def test_absolute_paths_and_byte_order_marks_are_read(bench: Any) -> None:
    path = bench.kit.folder / "bom.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "hi"}\r\n')
    assert bench.bind(str(path)).profile.provider == "replay"
