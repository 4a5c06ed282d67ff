"""Cassettes: what is recorded plays again, and what differs is named."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins.replay.tests.sessions import FIRST, LAST, record
from wakeful.types import (
    Call,
    ConfigError,
    ModelError,
    Opaque,
    Reply,
    Request,
    Result,
    Stop,
    Text,
    TextDelta,
    Tool,
    Trust,
    Usage,
)


async def test_a_recorded_session_plays_again_in_a_new_process(bench: Any, ask: Any, upstream: Any) -> None:
    first, second = await record(bench, ask, upstream)
    for model in (bench.bind("s.jsonl"), bench.bind("s.jsonl")):
        assert await model.complete(second, "c-9") == LAST
        assert await model.complete(first, "c-9") == FIRST
        assert model.profile == upstream().profile


async def test_a_cassette_is_readable_and_does_not_repeat_itself(bench: Any, ask: Any, upstream: Any) -> None:
    await record(bench, ask, upstream)
    header, one, two = (
        json.loads(line) for line in (bench.kit.folder / "s.jsonl").read_text("utf-8").splitlines()
    )
    assert (header["cassette"], header["model"]) == (1, "elsewhere:big")
    assert [part["what"] for part in one["request"]["tools"]] == ["`run_query`"]
    assert one["text"] == "Let me look."
    assert one["calls"] == [{"tool": "run_query", "args": '{"sql":"select 1"}', "id": "toolu_1"}]
    assert one["usage"] == {"read": 5, "write": 6, "uncached": 7, "output": 8, "cost": 0.25}
    assert one["seconds"] == 1.0
    assert (two["request"]["continues"], two["request"]["kept"]) == (one["fingerprint"], 1)
    assert "tools" not in two["request"]
    assert [part["what"] for part in two["request"]["messages"]] == [
        "text of the assistant",
        "call of `run_query`",
        "result of `run_query`",
    ]


async def test_the_model_that_is_recorded_is_asked_under_its_own_name(
    bench: Any, ask: Any, upstream: Any
) -> None:
    source = upstream(FIRST)
    request = ask("hi")
    await bench.bind("s.jsonl", source).complete(request, "c")
    assert source.asked == [evolve(request, model="elsewhere:big")]


async def test_what_a_provider_looked_up_is_as_little_trusted_when_it_plays_again(
    bench: Any, ask: Any, upstream: Any
) -> None:
    first = ask("hi")
    found = evolve(FIRST, trust=Trust.UNTRUSTED, source="elsewhere:web_search")
    assert await bench.bind("s.jsonl", upstream(found)).complete(first, "c") == found
    assert await bench.bind("s.jsonl").complete(first, "c") == found

    file = bench.kit.folder / "s.jsonl"
    file.write_text(file.read_text("utf-8").replace('"untrusted"', '"untrsted"'), "utf-8")
    with pytest.raises(ConfigError, match="trust 'untrsted' is not known; did you mean 'untrusted'"):
        bench.bind("s.jsonl")


async def test_a_cassette_can_be_renamed(bench: Any, ask: Any, upstream: Any) -> None:
    first, _ = await record(bench, ask, upstream)
    (bench.kit.folder / "s.jsonl").rename(bench.kit.folder / "t.jsonl")
    reply = await bench.bind("t.jsonl").complete(evolve(first, model="replay:t.jsonl"), "c")
    assert reply == FIRST


OTHER = Tool("run_query", "Read the database.", {"type": "object"})
EXTRA = Tool("send_email", "Send.", {"type": "object"})


def _changes(ask: Any) -> list[tuple[Request, str]]:
    said = ("Who owes us?", *FIRST.items)
    right = Result("toolu_1", "Ada: 12")
    base = ask()
    return [
        (ask(*said, right, tools=(OTHER,)), "tool `run_query` changed"),
        (ask(*said, right, tools=(*base.tools, EXTRA)), "tool `send_email` is new"),
        (ask(*said, right, tools=()), "tool `run_query` is gone"),
        (
            ask(*said, right, system=(base.system[0], "Rules: guess.")),
            "section 2 differs: recorded 'Rules: never guess.', now 'Rules: guess.'",
        ),
        (ask(*said, right, system=base.system[:1]), "1 fewer section than recorded, from section 2"),
        (
            ask(*said, Result("toolu_1", "Ada: 13")),
            "message 4 (result of `run_query`) differs: recorded 'Ada: 12', now 'Ada: 13'",
        ),
        (
            ask(*said, right, "and?", "now?"),
            "2 more messages than recorded, from message 5 (text of the user): 'and?'",
        ),
        (
            ask("Who owes him?", *FIRST.items, right),
            "message 1 (text of the user) differs: recorded 'Who owes us?', now 'Who owes him?'",
        ),
        (
            ask(*said, Result("toolu_1", "Ada: 12", failed=True)),
            "message 4 (result of `run_query`) differs: in what is not text",
        ),
    ]


@pytest.mark.parametrize("index", range(9))
async def test_a_request_that_does_not_match_says_what_differs(
    bench: Any, ask: Any, upstream: Any, index: int
) -> None:
    await record(bench, ask, upstream)
    request, what = _changes(ask)[index]
    with pytest.raises(ModelError) as caught:
        await bench.bind("s.jsonl").complete(request, "c")
    assert str(caught.value).startswith(f"request 2 does not match s.jsonl:3: {what}")
    assert "\n" not in str(caught.value)
    assert not caught.value.retryable


async def test_a_difference_late_in_a_long_text_is_shown_or_measured(
    bench: Any, ask: Any, upstream: Any
) -> None:
    model = bench.bind("s.jsonl", upstream(FIRST))
    await model.complete(ask("x" * 150 + "old" + "y" * 500), "c")
    player = bench.bind("s.jsonl")
    with pytest.raises(ModelError, match=r"recorded '…x{15}oldy+…', now '…x{15}newy+…'"):
        await player.complete(ask("x" * 150 + "new" + "y" * 500), "c")
    with pytest.raises(ModelError, match=r"after its first 200 characters \(recorded 653 .* now 654\)"):
        await player.complete(ask("x" * 150 + "old" + "y" * 501), "c")


async def test_without_strict_the_most_similar_reply_answers_and_is_reported(
    bench: Any, ask: Any, upstream: Any
) -> None:
    await record(bench, ask, upstream)
    model = bench.bind("s.jsonl", strict=False)
    request = ask("Who owes him?", *FIRST.items, Result("toolu_1", "Ada: 12"))
    assert await model.complete(request, "c") == LAST
    assert len(bench.kit.reports) == 1
    assert "message 1 (text of the user) differs" in bench.kit.reports[0]


async def test_auto_asks_only_for_what_is_missing(bench: Any, ask: Any, upstream: Any) -> None:
    first, second = await record(bench, ask, upstream)
    source = upstream(Reply((Text("assistant", "new"),)))
    model = bench.bind("s.jsonl", source, mode="auto")
    third = ask("Something else?")
    assert [await model.complete(request, "c") for request in (first, second)] == [FIRST, LAST]
    assert source.asked == []
    await model.complete(third, "c")
    assert await model.complete(third, "c") == Reply((Text("assistant", "new"),))
    assert len(source.asked) == 1
    assert await bench.bind("s.jsonl").complete(third, "c") == Reply((Text("assistant", "new"),))


async def test_a_request_recorded_twice_plays_both_and_stays_at_the_last(
    bench: Any, ask: Any, upstream: Any
) -> None:
    one, two = (Reply((Text("assistant", text),)) for text in ("one", "two"))
    model = bench.bind("s.jsonl", upstream(one, two))
    for _ in range(2):
        await model.complete(ask("hi"), "c")
    player = bench.bind("s.jsonl")
    assert [await player.complete(ask("hi"), "a") for _ in range(3)] == [one, two, two]
    assert await player.complete(ask("hi"), "b") == one


async def test_a_script_can_be_recorded_and_streams_while_it_is(bench: Any, ask: Any) -> None:
    bench.write("script.jsonl", '{"thinking": "hm", "text": "Hello you."}')
    heard: list[TextDelta] = []

    async def emit(delta: TextDelta) -> None:
        heard.append(delta)

    model = bench.bind("s.jsonl", mode="record", upstream="replay:script.jsonl")
    reply = await model.complete(ask("hi"), "c", emit)
    recorded, heard = heard, []
    assert await bench.bind("s.jsonl").complete(ask("hi"), "c", emit) == reply
    assert heard == recorded
    assert [delta.text for delta in heard] == ["hm", "Hello ", "you."]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.text(st.characters(codec=None), max_size=30)  # lone surrogates and odd line ends included
ITEMS = st.one_of(
    st.builds(Text, st.just("assistant"), WORDS),
    st.builds(Call, WORDS, WORDS, WORDS | st.builds(json.dumps, JSON)),
    st.builds(Opaque, st.sampled_from(["elsewhere", "replay"]), JSON),
)
COUNT = st.integers(0, 10**9)
REPLIES = st.builds(
    Reply,
    st.lists(ITEMS, max_size=5).map(tuple),
    st.builds(Usage, COUNT, COUNT, COUNT, COUNT, st.none() | st.floats(0, 1e6), st.booleans()),
    st.sampled_from(Stop),
)


@given(replies=st.lists(REPLIES, min_size=1, max_size=4), said=st.lists(WORDS, min_size=4, max_size=4))
def test_any_reply_plays_again_as_it_was(
    bench: Any, ask: Any, upstream: Any, replies: Any, said: Any
) -> None:
    async def both() -> None:
        model = bench.bind("any.jsonl", upstream(*replies))
        items: list[object] = []
        requests: list[Request] = []
        for text in said[: len(replies)]:
            items += [f"{len(items)} {text}"]
            requests.append(ask(*items))
            items += (await model.complete(requests[-1], "c")).items
        player = bench.bind("any.jsonl")
        assert [await player.complete(request, "d") for request in requests] == replies

    (bench.kit.folder / "any.jsonl").unlink(missing_ok=True)
    asyncio.run(both())
