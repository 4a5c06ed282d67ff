"""Another provider stands in, in the middle of a conversation with thoughts and calls; pauses are obeyed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.providers import (
    ANTHROPIC,
    CHAT,
    KEY,
    RESPONSES,
    HurriedClock,
    Way,
    books,
    each_way,
    hurried,
    metered,
    paid,
    turn,
    write,
)
from wakeful.testing import FakeClock
from wakeful.types import ActionEnded, ReplyReceived, RunStatus, TextWithdrawn

THINKS = {"thinking": "The key is a.", "reasoning_field": "reasoning_content"}
LOOKS = {**THINKS, "text": "Let me look.", "calls": [{"tool": "look", "args": {"key": key}} for key in "ab"]}
PAYS = {**THINKS, "calls": [{"tool": "pay", "args": {"euros": 5}}]}

pairs = pytest.mark.parametrize(
    ("first", "second"),
    [(ANTHROPIC, RESPONSES), (ANTHROPIC, CHAT), (RESPONSES, ANTHROPIC), (CHAT, ANTHROPIC)],
    ids=lambda way: way.name,
)


def desk(folder: Path, wire: Any, first: Way, second: Way, **more: Any) -> Path:
    tables = (way.table(way.url(wire), key=KEY) for way in (first, second))
    return write(folder, *tables, model=first.spelled, failover=[second.spelled], **more)


def models(wire: Any) -> list[str]:
    return [request["model"] for request in wire.requests]


@pairs
async def test_the_next_model_goes_on_where_the_first_one_broke(
    wire: Any, wakeful_app: Any, tmp_path: Path, first: Way, second: Way
) -> None:
    # The first thinks and calls, pays, loses its key; the other ends the turn and takes the next one over,
    # until the first is there again and reads what the other one did.
    refused = {"error": {"kind": "auth"}}
    wire.play([LOOKS, refused, PAYS, refused, "Paid.", refused, LOOKS, "Seen.", "Good bye."], api_key=KEY)
    async with wakeful_app(desk(tmp_path, wire, first, second)) as app:
        turns = [await turn(app, text) for text in ("Pay.", "Look.", "Bye.")]
    assert [each.answer.text for each in turns] == ["Paid.", "Seen.", "Good bye."]
    one, two = first.model, second.model
    assert models(wire) == [one, one, two, one, two, one, two, one, one]
    assert paid(tmp_path) == [5]
    stood_in = [event.reply.model for each in turns for event in each.of(ReplyReceived)]
    assert [name == second.spelled for name in stood_in] == [False, True, True, True, False, False]
    assert all(ended.result.success for each in turns for ended in each.of(ActionEnded))
    charged = metered(row for row in wire.meter.rows if not row.get("error"))
    assert sum(each.answer.usage.input for each in turns) == charged
    assert set(books(tmp_path).values()) == {sum(each.answer.usage.total for each in turns)}


@pairs
async def test_text_of_a_stream_that_broke_is_withdrawn_before_the_next_model_speaks(
    wire: Any, wakeful_app: Any, tmp_path: Path, first: Way, second: Way
) -> None:
    broken = {**PAYS, "text": "I pay now. " * 30, "error": {"stream": "truncate"}}
    wire.play([LOOKS, broken, PAYS, "Paid."], api_key=KEY)
    async with wakeful_app(desk(tmp_path, wire, first, second, more="retry = { total_s = 0 }")) as app:
        turned = await turn(app, "Pay.")
    assert turned.answer.text == "Paid."
    assert len(turned.of(TextWithdrawn)) == 1
    assert models(wire) == [first.model, first.model, second.model, first.model]
    assert paid(tmp_path) == [5]


@pairs
async def test_what_no_model_can_mend_is_not_handed_over(
    wire: Any, wakeful_app: Any, tmp_path: Path, first: Way, second: Way
) -> None:
    wire.play([{"error": {"kind": "context_too_long"}}, {"error": {"kind": "blocked"}}], api_key=KEY)
    async with wakeful_app(desk(tmp_path, wire, first, second)) as app:
        answers = [(await turn(app, text)).answer for text in ("Long.", "Harm.")]
    assert [answer.error.partition(":")[0] for answer in answers] == ["context_too_long", "refused"]
    assert models(wire) == [first.model] * 2


@pairs
async def test_when_all_fail_the_last_one_says_why(
    wire: Any, wakeful_app: Any, tmp_path: Path, first: Way, second: Way
) -> None:
    wire.play([{"error": {"kind": "overloaded"}}], api_key=KEY, loop=True)
    clock = HurriedClock()
    async with wakeful_app(desk(tmp_path, wire, first, second, more="retry = { total_s = 3 }")) as app:
        hurried(app, clock)
        answer = (await turn(app, "Hello.")).answer
    assert answer.status is RunStatus.FAILED
    assert answer.error.startswith(f"overloaded: {second.spelled}: ")
    assert set(models(wire)) == {first.model, second.model}
    assert clock.monotonic() <= 6


@each_way
async def test_no_try_starts_before_the_server_wants_one(
    wire: Any, wakeful_app: Any, tmp_path: Path, clock: FakeClock, way: Way
) -> None:
    wire.play([{"error": {"kind": "rate_limit", "retry_after": 40}}, "Now."], api_key=KEY)
    file = write(tmp_path, way.table(way.url(wire), key=KEY), model=way.spelled)
    async with wakeful_app(file) as app:
        pauses = FakeClock()
        hurried(app, pauses)
        asking = asyncio.create_task(app.send("desk", "Hello."))
        while not pauses.sleeping:  # noqa: ASYNC110  (an answer on a real socket comes first)
            await asyncio.sleep(0)
        await pauses.elapse(39.9)
        assert (len(wire.requests), asking.done(), pauses.sleeping) == (1, False, 1)
        pauses.advance(0.2)
        answer = await asking
    assert (answer.text, len(wire.requests)) == ("Now.", 2)


@each_way
async def test_a_pause_beyond_the_patience_is_not_begun(
    wire: Any, wakeful_app: Any, tmp_path: Path, way: Way
) -> None:
    wire.play([{"error": {"kind": "rate_limit", "retry_after": 3600}}, "Never."], api_key=KEY)
    file = write(tmp_path, way.table(way.url(wire), key=KEY), model=way.spelled)
    async with wakeful_app(file) as app:
        answer = await app.send("desk", "Hello.")
    assert answer.status is RunStatus.FAILED
    assert answer.error.startswith(f"rate_limit: {way.spelled}: ")
    assert len(wire.requests) == 1
