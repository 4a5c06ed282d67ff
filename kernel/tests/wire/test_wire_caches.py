"""The cache rules themselves, on hand-made requests with a counter of one token per word."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from wakeful.testing.wire import (
    AnthropicCache,
    BadRequestError,
    Bill,
    Canon,
    Clock,
    Meter,
    OpenAICache,
    canon_anthropic,
    canon_chat,
    divergence,
)
from wakeful.testing.wire.canon import dumps


class Words:
    name = "words"

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def ids(self, text: str) -> array[int]:
        return array("I", [self.seen.setdefault(w, len(self.seen)) for w in text.split()])

    def count(self, text: str) -> int:
        return len(text.split())


def cut(old: Canon, new: Canon) -> dict[str, Any]:
    found = divergence(old, new)
    assert found is not None
    return found


def words(n: int, word: str = "w") -> str:
    return " ".join([word] * n)


def ask(
    messages: list[Any],
    *,
    system: Any = None,
    tools: Any = (),
    model: str = "claude-sonnet-4-5",
    **extra: Any,
) -> dict[str, Any]:
    return {
        "model": model,
        "max_tokens": 1,
        "system": system or [],
        "tools": list(tools),
        "messages": messages,
        **extra,
    }


def user(text: str, **extra: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text, **extra}]}


MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}


def charge(cache: AnthropicCache, body: dict[str, Any]) -> Bill:
    return cache.charge(canon_anthropic(body).seal(Words()))


def test_write_then_read_and_prices() -> None:
    cache = AnthropicCache(Clock())
    first = charge(
        cache,
        ask(
            [
                user(words(2000), **MARK),
            ]
        ),
    )
    assert (first.read, first.write, first.uncached) == (0, 2000, 0)
    assert first.cost == pytest.approx(2500)
    second = charge(
        cache, ask([user(words(2000), **MARK), {"role": "assistant", "content": "ok"}, user(words(10))])
    )
    assert (second.read, second.write) == (2000, 0)
    assert second.uncached == 11
    assert second.cost == pytest.approx(211)


def test_moving_breakpoint_extends_the_entry() -> None:
    cache = AnthropicCache(Clock())
    charge(cache, ask([user(words(1500), **MARK)]))
    bill = charge(
        cache, ask([user(words(1500)), {"role": "assistant", "content": "ok"}, user(words(100), **MARK)])
    )
    assert (bill.read, bill.write) == (1500, 101)


def test_below_minimum_is_not_cached_and_says_so() -> None:
    bill = charge(AnthropicCache(Clock()), ask([user(words(1000), **MARK)]))
    assert bill.write == 0
    assert bill.uncached == 1000
    assert bill.notes == ["below_minimum(1024)"]
    assert (
        charge(AnthropicCache(Clock()), ask([user(words(1000), **MARK)], model="claude-opus-5")).write == 1000
    )
    assert (
        charge(AnthropicCache(Clock()), ask([user(words(4000), **MARK)], model="claude-haiku-4-5")).write == 0
    )


def test_ttl_expires_and_is_refreshed_by_reading() -> None:
    clock = Clock()
    cache = AnthropicCache(clock)
    body = ask([user(words(2000), **MARK)])
    charge(cache, body)
    for _ in range(3):
        clock.advance(200)
        assert charge(cache, body).read == 2000
    clock.advance(301)
    late = charge(cache, body)
    assert late.read == 0
    assert late.write == 2000
    assert late.notes == ["expired"]


def test_one_hour_entries_cost_twice_and_live_longer() -> None:
    clock = Clock()
    cache = AnthropicCache(clock)
    body = ask([user(words(2000), cache_control={"type": "ephemeral", "ttl": "1h"})])
    first = charge(cache, body)
    assert first.write_1h == 2000
    assert first.cost == 4000
    clock.advance(3000)
    assert charge(cache, body).read == 2000


def test_one_hour_must_come_before_five_minutes() -> None:
    body = ask(
        [user(words(2000), cache_control={"type": "ephemeral", "ttl": "1h"})],
        system=[{"type": "text", "text": "s", **MARK}],
    )
    with pytest.raises(BadRequestError):
        charge(AnthropicCache(Clock()), body)


def test_at_most_four_breakpoints_counting_the_automatic_one() -> None:
    system = [{"type": "text", "text": f"s{i}", **MARK} for i in range(4)]
    charge(AnthropicCache(Clock()), ask([user("x")], system=system))
    with pytest.raises(BadRequestError):
        charge(AnthropicCache(Clock()), ask([user("x")], system=system, cache_control={"type": "ephemeral"}))


@pytest.mark.parametrize(("between", "read"), [(19, 1500), (20, 0)])
def test_lookback_reaches_twenty_blocks(between: int, read: int) -> None:
    cache = AnthropicCache(Clock())
    charge(cache, ask([user(words(1500), **MARK)]))
    tail = [{"type": "text", "text": f"b{i}"} for i in range(between)]
    tail[-1].update(MARK)
    bill = charge(cache, ask([{"role": "user", "content": [{"type": "text", "text": words(1500)}, *tail]}]))
    assert bill.read == read
    assert bill.notes == ([] if read else ["outside_lookback"])


def test_automatic_breakpoint_sits_on_the_last_cacheable_block() -> None:
    cache = AnthropicCache(Clock())
    auto: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
    charge(cache, ask([user(words(1500))], **auto))
    bill = charge(
        cache, ask([user(words(1500)), {"role": "assistant", "content": "ok"}, user("more")], **auto)
    )
    assert bill.read == 1500
    assert bill.uncached == 0


def test_tool_choice_change_keeps_tools_and_system_but_not_messages() -> None:
    cache = AnthropicCache(Clock())
    tools = [{"name": "a", "description": words(1200), "input_schema": {}, **MARK}]
    one = ask([user(words(500), **MARK)], tools=tools)
    charge(cache, one)
    bill = charge(cache, {**one, "tool_choice": {"type": "any"}})
    assert 1200 <= bill.read < 1210
    assert bill.write == 500


def test_deferred_tools_stay_out_of_the_prompt() -> None:
    tools = [{"name": "a", "description": words(100), "input_schema": {}, "defer_loading": True}]
    assert canon_anthropic(ask([user("hi")], tools=tools)).seal(Words()).total == 1


def test_openai_automatic_steps() -> None:
    clock, tok = Clock(), Words()
    cache = OpenAICache(clock, tok)

    def go(text: str, model: str = "gpt-5.2", key: str | None = None) -> Bill:
        body = {"model": model, "messages": [{"role": "user", "content": text}], "prompt_cache_key": key}
        return cache.charge(canon_chat(body).seal(tok))

    long = " ".join(f"t{i}" for i in range(1400))
    assert go(long).read == 0
    assert go(long).read == 1280  # 1400 down to a multiple of 128
    assert go(long + " and more").read == 1280
    assert go(long, key="other").read == 0  # another routing key
    changed = long.replace("t1100 ", "CHANGED ")
    assert go(changed).read == 1024
    assert go(long.replace("t900 ", "CHANGED ")).read == 0
    clock.advance(601)
    assert go(long).read == 0
    assert go(" ".join(f"t{i}" for i in range(1000))).notes == ["below_minimum(1024)"]


def test_openai_breakpoint_generation_needs_an_exact_boundary() -> None:
    tok = Words()
    cache = OpenAICache(Clock(), tok)

    def go(messages: list[Any], **extra: Any) -> Bill:
        return cache.charge(canon_chat({"model": "gpt-5.6", "messages": messages, **extra}).seal(tok))

    system = {"role": "system", "content": words(1500)}
    first = go([system, {"role": "user", "content": "one"}])
    assert first.write == 1501
    assert first.cost == pytest.approx(1501 * 1.25)
    assert go([system, {"role": "user", "content": "two"}]).read == 0  # same system text, no entry ends there
    grown = go(
        [
            system,
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "next"},
        ]
    )
    assert grown.read == 1501
    marked = {
        "role": "system",
        "content": [
            {"type": "text", "text": words(1500, "v"), "prompt_cache_breakpoint": {"mode": "explicit"}}
        ],
    }
    go([marked, {"role": "user", "content": "one"}])
    assert go([marked, {"role": "user", "content": "two"}]).read == 1500


def test_divergence_names_the_section_and_the_byte() -> None:
    tok = Words()

    def canon(body: dict[str, Any]) -> Canon:
        return canon_anthropic(body).seal(tok)

    tool = {"name": "a", "description": "d", "input_schema": {"x": 1}}
    base = canon(ask([user("hello")], system="abc def", tools=[tool]))
    same = canon(
        ask([user("hello"), {"role": "assistant", "content": "x"}, user("y")], system="abc def", tools=[tool])
    )
    assert divergence(base, same) is None
    other = cut(base, canon(ask([user("hello")], system="abc dXf", tools=[tool])))
    assert (other["section"], other["reason"], other["tail"]) == ("system", "system_changed", False)
    assert other["byte_offset"] == len(dumps(tool)) + 1 + 5
    more = cut(base, canon(ask([user("hello")], system="abc def", tools=[tool, {**tool, "name": "b"}])))
    assert more["reason"] == "tools_added(1)"
    two = canon(ask([user("hi")], tools=[tool, {**tool, "name": "b"}]))
    swapped = cut(two, canon(ask([user("hi")], tools=[{**tool, "name": "b"}, tool])))
    assert swapped["reason"] == "tools_reordered"
    assert swapped["byte_offset"] == len('{"name":"')
    changed = canon(ask([user("hello")], system="abc def", tools=[{**tool, "input_schema": {"x": 2}}]))
    assert cut(base, changed)["reason"] == "tool_changed(a)"


def test_divergence_tells_a_replaced_tail_from_rewritten_history() -> None:
    tok = Words()

    def canon(*texts: str) -> Canon:
        roles = ("user", "assistant")
        return canon_anthropic(ask([{"role": roles[i % 2], "content": t} for i, t in enumerate(texts)])).seal(
            tok
        )

    old = canon("q1", "a1", "q2", "a2", "state 1")
    assert cut(old, canon("q1", "a1", "q2", "a2", "state 2"))["tail"] is True
    change = cut(old, canon("q1", "a1", "q2 edited", "a2", "state 1"))
    assert change["path"] == "messages[2].content[0]"
    assert change["tail"] is False
    assert change["reason"] == "message_rewritten"
    assert cut(old, canon("q1", "a1"))["reason"] == "history_shortened"


def test_meter_sums_up() -> None:
    meter = Meter(tokenizer=Words())
    for system in ("s", "s", "other"):
        _, row = meter.book("c", canon_anthropic(ask([user(words(2000), **MARK)], system=system)))
        meter.keep(row)
    got = meter.summary()
    assert got["requests"] == 3
    assert got["cached_read"] == 2001
    assert got["prefix_breaks"] == 1
    assert got["break_reasons"] == {"system:system_changed": 1}
    assert got["input_tokens"] == got["cached_read"] + got["cache_write"] + got["uncached"]
