"""Every fault ends in one classified outcome; nothing is acted on twice, and no usage is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.providers import (
    ANTHROPIC,
    CHAT,
    KEY,
    RESPONSES,
    HurriedClock,
    Turn,
    Way,
    books,
    each_way,
    hurried,
    metered,
    paid,
    streaming_or_not,
    turn,
    write,
)
from wakeful.types import ActionEnded, RunStatus, StepStarted, TextDelta, TextWithdrawn, TryFailed

PAY = {"tool": "pay", "args": {"euros": 5}}
LONG = "I pay now. " * 30

#: Faults in a stream with the kind they end in, by protocol: an error event says what it is.
STREAM_FAULTS = [
    *((way, "truncate", "network") for way in (ANTHROPIC, RESPONSES, CHAT)),
    *((way, "bad_json", "malformed") for way in (ANTHROPIC, RESPONSES, CHAT)),
    (ANTHROPIC, "error_event", "overloaded"),
    (RESPONSES, "error_event", "server"),
    (CHAT, "error_event", "server"),
    (RESPONSES, "failed", "server"),
]
faults = pytest.mark.parametrize(
    ("way", "fault", "kind"), STREAM_FAULTS, ids=[f"{way.name}-{fault}" for way, fault, _ in STREAM_FAULTS]
)

PASSING = ("rate_limit", "server", "overloaded", "timeout")
FINAL = {
    "auth": "auth",
    "permission": "permission",
    "quota": "permission",
    "not_found": "unknown",
    "context_too_long": "context_too_long",
    "too_large": "context_too_long",
    "blocked": "refused",
}


def desk(folder: Path, wire: Any, way: Way, *, stream: bool = True, more: str = "") -> Path:
    table = way.table(way.url(wire), stream=stream, key=KEY)
    return write(folder, table, model=way.spelled, more=more)


def reported(wire: Any, way: Way, *whole: int) -> int:
    """Return the input tokens the server told of: OpenAI tells at the end of a whole stream."""
    rows = wire.meter.rows
    return metered(rows if way.scheme == "anthropic" else [rows[number] for number in whole])


def on_screen(turned: Turn) -> str:
    """Return the text that stands when all is over: what was withdrawn of a step is gone."""
    before, now = "", ""
    for event in turned.events:
        if isinstance(event, StepStarted):
            before, now = before + now, ""
        elif isinstance(event, TextDelta) and not event.thinking:
            now += event.text
        elif isinstance(event, TextWithdrawn):
            now = ""
    return before + now


@faults
async def test_a_broken_stream_is_withdrawn_and_asked_for_again(
    wire: Any, wakeful_app: Any, tmp_path: Path, way: Way, fault: str, kind: str
) -> None:
    broken = {"text": LONG, "calls": [PAY], "error": {"stream": fault}}
    wire.play([broken, {"text": "Paying.", "calls": [PAY]}, {**broken, "calls": []}, "Paid."], api_key=KEY)
    clock = HurriedClock()
    async with wakeful_app(desk(tmp_path, wire, way)) as app:
        hurried(app, clock)
        turned = await turn(app, "Pay 5.")
    answer = turned.answer
    assert (answer.text, answer.status) == ("Paid.", RunStatus.COMPLETED)
    assert paid(tmp_path) == [5]
    assert len(turned.of(ActionEnded)) == 1
    assert len(turned.of(TextWithdrawn)) == len(clock.pauses) == 2
    assert [event.pause_s for event in turned.of(TryFailed)] == clock.pauses
    assert on_screen(turned) == "Paying.Paid."
    assert answer.usage.input == reported(wire, way, 1, 3)
    assert set(books(tmp_path).values()) == {answer.usage.total}
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()


@faults
async def test_a_stream_that_never_comes_whole_fails_the_run_once(
    wire: Any, wakeful_app: Any, tmp_path: Path, way: Way, fault: str, kind: str
) -> None:
    wire.play([{"text": LONG, "calls": [PAY], "error": {"stream": fault}}], api_key=KEY, loop=True)
    async with wakeful_app(desk(tmp_path, wire, way, more="retry = { total_s = 5 }")) as app:
        hurried(app, HurriedClock())
        turned = await turn(app, "Pay 5.")
    answer = turned.answer
    assert answer.status is RunStatus.FAILED
    assert answer.error.startswith(f"{kind}: {way.spelled}: ")
    assert (paid(tmp_path), on_screen(turned)) == ([], "")
    assert len(wire.requests) > 1
    assert answer.usage.input == reported(wire, way)
    assert set(books(tmp_path).values()) == {answer.usage.total}


@each_way
@streaming_or_not
async def test_what_passes_is_waited_out_as_long_as_the_server_says(
    wire: Any, wakeful_app: Any, tmp_path: Path, way: Way, stream: bool
) -> None:
    passing = [{"error": {"kind": kind, "retry_after": 7}} for kind in PASSING]
    wire.play([{"calls": [PAY]}, *passing, "Paid."], api_key=KEY)
    clock = HurriedClock()
    async with wakeful_app(desk(tmp_path, wire, way, stream=stream)) as app:
        hurried(app, clock)
        turned = await turn(app, "Pay 5.")
    assert turned.answer.text == "Paid."
    assert clock.pauses == [7.0] * len(PASSING)
    assert paid(tmp_path) == [5]
    charged = metered(row for row in wire.meter.rows if not row.get("error"))
    assert turned.answer.usage.input == charged
    assert set(books(tmp_path).values()) == {turned.answer.usage.total}


@each_way
@streaming_or_not
async def test_what_does_not_pass_is_said_once(
    wire: Any, wakeful_app: Any, tmp_path: Path, way: Way, stream: bool
) -> None:
    wire.play([{"error": {"kind": kind}} for kind in FINAL], api_key=KEY)
    clock = HurriedClock()
    async with wakeful_app(desk(tmp_path, wire, way, stream=stream)) as app:
        hurried(app, clock)
        answers = [(await turn(app, f"Pay {kind}.")).answer for kind in FINAL]
    assert [answer.status for answer in answers] == [RunStatus.FAILED] * len(FINAL)
    assert [answer.error.partition(":")[0] for answer in answers] == list(FINAL.values())
    assert clock.pauses == []
    assert len(wire.requests) == len(FINAL)


@each_way
@streaming_or_not
async def test_the_output_limit_in_the_middle_of_a_call(
    wire: Any, wakeful_app: Any, tmp_path: Path, way: Way, stream: bool
) -> None:
    cut = {"calls": [PAY, {**PAY, "cut": True}], "stop": "max_tokens"}
    wire.play([cut, {"calls": [PAY]}, "Paid.", cut, cut], api_key=KEY)
    async with wakeful_app(desk(tmp_path, wire, way, stream=stream)) as app:
        first, second = await turn(app, "Pay 5."), await turn(app, "Pay 5 again.")
    assert [ended.result.code for ended in first.of(ActionEnded)] == [
        "OUTPUT_LIMIT",
        "OUTPUT_LIMIT",
        "SUCCESS",
    ]
    assert first.answer.text == "Paid."
    assert second.answer.status is RunStatus.FAILED
    assert second.answer.error == "malformed: the output limit cut the reply inside a call, twice"
    assert paid(tmp_path) == [5]
    assert first.answer.usage.input + second.answer.usage.input == metered(wire.meter.rows)
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()


@each_way
@streaming_or_not
async def test_a_refusal_ends_the_turn_and_the_next_goes_on(
    wire: Any, wakeful_app: Any, tmp_path: Path, way: Way, stream: bool
) -> None:
    wire.play(
        [{"calls": [PAY]}, {"refusal": "I do not help with that."}, "Something else, then."], api_key=KEY
    )
    async with wakeful_app(desk(tmp_path, wire, way, stream=stream)) as app:
        refused, after = await turn(app, "Do harm."), await turn(app, "Well?")
    assert refused.answer.status is RunStatus.FAILED
    assert refused.answer.error.startswith("refused: ")
    assert "I do not help with that." in refused.answer.error + refused.answer.text
    assert after.answer.text == "Something else, then."
    assert paid(tmp_path) == [5]
    assert refused.answer.usage.input + after.answer.usage.input == metered(wire.meter.rows)


@each_way
@streaming_or_not
async def test_parallel_calls_and_thoughts_in_a_long_conversation(
    wire: Any, wakeful_app: Any, tmp_path: Path, way: Way, stream: bool
) -> None:
    thinks = {"thinking": "Both keys.", "reasoning_field": "reasoning_content"}
    calls = [{"tool": "look", "args": {"key": key}} for key in "abc"]
    wire.play([{**thinks, "calls": calls}, {**thinks, "text": "Three.", "calls": calls[:1]}, "Done."] * 2)
    async with wakeful_app(desk(tmp_path, wire, way, stream=stream)) as app:
        turns = [await turn(app, text) for text in ("Look.", "Look again.")]
    assert [each.answer.text for each in turns] == ["Done.", "Done."]
    assert [len(each.of(ActionEnded)) for each in turns] == [4, 4]
    assert sum(each.answer.usage.input for each in turns) == metered(wire.meter.rows)
    assert (wire.summary()["prefix_breaks"], wire.summary()["tail_replacements"]) == (0, 0), wire.explain()
