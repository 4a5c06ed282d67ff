"""Recording: what fails meanwhile harms no file, who shares one, nothing secret is written."""

from __future__ import annotations

import asyncio
import json
import resource
from typing import Any

import pytest

from plugins.replay.tests.sessions import FIRST, LAST, record
from wakeful.types import Call, ConfigError, Emit, Model, ModelError, Opaque, Problem, Reply, Request, Text
from wakeful_replay import ReplaySettings


async def test_conversations_record_side_by_side(bench: Any, ask: Any, upstream: Any) -> None:
    count = 20
    replies = [Reply((Text("assistant", f"{number} " + "ü" * 20_000),)) for number in range(count)]
    shared = bench.bind("t.jsonl", upstream(*replies))
    await asyncio.gather(
        *(shared.complete(ask(f"question {number}"), f"c-{number}") for number in range(count))
    )
    player = bench.bind("t.jsonl")
    played = await asyncio.gather(
        *(player.complete(ask(f"question {number}"), "x") for number in reversed(range(count)))
    )
    assert played == replies[::-1]


async def test_a_recording_killed_in_the_middle_of_a_line(bench: Any, ask: Any, upstream: Any) -> None:
    first, second = await record(bench, ask, upstream)
    path = bench.kit.folder / "s.jsonl"
    whole = path.read_bytes()
    start = whole.rstrip(b"\n").rindex(b"\n") + 1
    for size in (start + 1, start + 40, len(whole) - 2):
        path.write_bytes(whole[:size])
        with pytest.raises(ConfigError, match=r"s\.jsonl:3: the line is cut off"):
            bench.bind("s.jsonl")
        bench.kit.reports.clear()
        model = bench.bind("s.jsonl", upstream(LAST), mode="auto")
        assert bench.kit.reports == ["s.jsonl: the last line was cut off; it is dropped and recorded anew"]
        assert [await model.complete(request, "c") for request in (first, second)] == [FIRST, LAST]
        player = bench.bind("s.jsonl")
        assert [await player.complete(request, "c") for request in (first, second)] == [FIRST, LAST]


async def test_secrets_are_never_written(bench: Any, ask: Any, upstream: Any) -> None:
    bench.kit.secrets = ('sk-"quoted"-123', "pässword-9", "x")
    long = "a" * 195 + "pässword-9"  # the excerpt would end in the middle of it
    reply = Reply(
        (Text("assistant", "x is pässword-9"), Call("c", "t", json.dumps({"k": 'sk-"quoted"-123'})))
    )
    model = bench.bind("s.jsonl", upstream(reply))
    request = ask(long, system=('key sk-"quoted"-123',))
    assert await model.complete(request, "c") == reply
    written = (bench.kit.folder / "s.jsonl").read_text("utf-8")
    for trace in ("quoted", "pässw", "p\\u00e4ssw"):
        assert trace not in written
    assert (await bench.bind("s.jsonl").complete(request, "c")).items == (
        Text("assistant", "x is [secret]"),
        Call("c", "t", '{"k": "[secret]"}'),
    )


async def test_errors_of_upstream_pass_and_are_not_recorded(bench: Any, ask: Any, upstream: Any) -> None:
    source = upstream(FIRST)

    class Failing:
        profile = source.profile

        async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
            raise ModelError("overloaded", "busy", retryable=True, retry_after=3.0)

    with pytest.raises(ModelError) as caught:
        await bench.bind("s.jsonl", Failing()).complete(ask("hi"), "c")
    assert (caught.value.kind, caught.value.retryable, caught.value.retry_after) == ("overloaded", True, 3.0)
    assert not (bench.kit.folder / "s.jsonl").exists()


async def test_a_file_that_cannot_be_written_is_said(bench: Any, ask: Any, upstream: Any) -> None:
    model = bench.bind("sub.jsonl", upstream(FIRST))
    (bench.kit.folder / "sub.jsonl").mkdir()
    with pytest.raises(ModelError, match=r"sub\.jsonl cannot be recorded into: Is a directory"):
        await model.complete(ask("hi"), "c")


async def test_a_full_disk_loses_one_reply_and_not_the_file(bench: Any, ask: Any, upstream: Any) -> None:
    first, second = await record(bench, ask, upstream)
    path = bench.kit.folder / "s.jsonl"
    long = Reply((Text("assistant", "long " * 1000),))
    model = bench.bind("s.jsonl", upstream(long, LAST), mode="auto")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, before[1]))
    try:
        with pytest.raises(ModelError, match=r"s\.jsonl cannot be recorded into: File too large"):
            await model.complete(ask("one"), "c")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises(ConfigError, match=r"s\.jsonl:4: the line is cut off"):
        bench.bind("s.jsonl")
    await model.complete(ask("two"), "c")
    player = bench.bind("s.jsonl")
    assert [await player.complete(request, "c") for request in (first, second, ask("two"))] == [
        FIRST,
        LAST,
        LAST,
    ]


async def test_a_reply_that_no_file_can_hold_is_said(bench: Any, ask: Any, upstream: Any) -> None:
    first, _ = await record(bench, ask, upstream)
    odd = Reply((Opaque("elsewhere", {"score": float("nan")}),))
    with pytest.raises(ModelError, match=r"s\.jsonl cannot hold the reply"):
        await bench.bind("s.jsonl", upstream(odd)).complete(ask("one"), "c")
    assert await bench.bind("s.jsonl").complete(first, "c") == FIRST


async def test_two_models_are_never_mixed_in_a_new_file(bench: Any, ask: Any) -> None:
    bench.write("a.jsonl", '{"text": "a"}')
    bench.write("b.jsonl", '{"text": "b"}')
    provider = bench.provider()
    one, two = (
        provider.bind("s.jsonl", ReplaySettings("record", f"replay:{name}.jsonl"), None) for name in "ab"
    )
    await one.complete(ask("hi"), "c")
    with pytest.raises(ModelError, match=r"s\.jsonl: was recorded from 'replay:a\.jsonl', but upstream is"):
        await two.complete(ask("hi"), "c")


async def test_agents_that_record_into_one_file_share_it(bench: Any, ask: Any, upstream: Any) -> None:
    provider, source = bench.provider(), upstream(FIRST)
    own = ReplaySettings("auto", "elsewhere:big")
    one, two = (provider.bind("s.jsonl", own, lambda _: source) for _ in range(2))
    assert await one.complete(ask("hi"), "a") == await two.complete(ask("hi"), "b") == FIRST
    assert len(source.asked) == 1
    (bench.kit.folder / "s.jsonl").unlink()
    source.asked.clear()
    anew = provider.bind("s.jsonl", own, lambda _: source)
    await anew.complete(ask("hi"), "c")
    assert await bench.bind("s.jsonl").complete(ask("hi"), "d") == FIRST


async def test_what_is_recorded_needs_no_upstream_to_play(bench: Any, ask: Any, upstream: Any) -> None:
    first, _ = await record(bench, ask, upstream)

    def no_key(model: str) -> Model:
        raise ConfigError([Problem("providers.elsewhere.key", "is missing")])

    own = ReplaySettings("auto", "elsewhere:big")
    model = bench.provider().bind("s.jsonl", own, no_key)
    assert await model.complete(first, "c") == FIRST
    with pytest.raises(
        ModelError, match=r"nothing recorded matches, and upstream: providers\.elsewhere\.key"
    ):
        await model.complete(ask("new"), "c")
