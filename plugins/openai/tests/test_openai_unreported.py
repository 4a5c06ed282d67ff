"""A stream that breaks before it says what it used is not one that used nothing: nobody reported it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from wakeful.app import Agent
from wakeful.models.tries import counting
from wakeful.store.records import get_run
from wakeful.types import ModelError, RunStatus, TryFailed, Usage

BOTH = pytest.mark.parametrize("api", ["responses", "chat"])
FAULTS = pytest.mark.parametrize("fault", ["truncate", "bad_json", "error_event"])
KEY = "sk-proj-Zx81-not-a-real-key-4711"
LONG = "word " * 100
UNKNOWN = Usage(reported=False)


def broken(fault: str) -> Any:
    return {"text": LONG, "error": {"stream": fault}}


def agent(wire: Any, api: str) -> Agent:
    settings = {"base_url": wire.openai_url, "api_key": KEY, "api": api}
    return Agent(model="openai:gpt-5.2", settings={"openai": settings})


async def turn(app: Any, clock: Any) -> Any:
    """Play a turn whose reply streams; fake time passes in the pauses between tries."""
    events = []
    async for event in app.stream("agent", "Hello."):
        events.append(event)
        if isinstance(event, TryFailed):
            await clock.elapse(event.pause_s)
    answer = events[-1].answer
    return answer, await app.store.read(partial(get_run, run_id=answer.run_id))


@BOTH
@FAULTS
async def test_a_stream_that_breaks_says_that_its_usage_is_unknown(
    api: str, fault: str, wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    wire.play([broken(fault)])
    with pytest.raises(ModelError) as caught:
        await bench.bind(wire.openai_url, api=api).complete(ask("go"), "c", screen)
    assert caught.value.usage == UNKNOWN


@BOTH
async def test_a_request_that_was_refused_used_nothing(api: str, wire: Any, bench: Any, ask: Any) -> None:
    wire.play([{"error": {"kind": "rate_limit"}}])
    with pytest.raises(ModelError) as caught:
        await bench.bind(wire.openai_url, api=api).complete(ask("go"), "c")
    assert caught.value.usage is None


@BOTH
async def test_a_stream_that_was_cancelled_is_counted_as_unknown(
    api: str, wire: Any, bench: Any, ask: Any
) -> None:
    wire.play([LONG])
    shown = asyncio.Event()

    async def stay(_: Any) -> None:
        shown.set()
        await asyncio.Event().wait()

    with counting() as used:
        task = asyncio.create_task(bench.bind(wire.openai_url, api=api).complete(ask("go"), "c", stay))
        await shown.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert used == [UNKNOWN]


@BOTH
@FAULTS
async def test_a_try_of_unknown_usage_marks_what_the_next_one_used(
    api: str, fault: str, wire: Any, wakeful_app: Any, clock: Any
) -> None:
    wire.play([broken(fault), "Whole."])
    async with wakeful_app(agent(wire, api)) as app:
        answer, stored = await turn(app, clock)
    assert (answer.text, len(wire.requests)) == ("Whole.", 2)
    told = [answer.usage, stored.run.usage, stored.steps[0].usage, stored.model_calls[0].usage]
    assert [(usage.reported, usage.total > 0) for usage in told] == [(False, True)] * 4


@BOTH
async def test_a_call_that_failed_for_good_keeps_that_nobody_knows(
    api: str, wire: Any, wakeful_app: Any, clock: Any
) -> None:
    wire.play([broken("truncate")] * 40)
    async with wakeful_app(agent(wire, api)) as app:
        answer, stored = await turn(app, clock)
    assert (answer.status, answer.usage) == (RunStatus.FAILED, UNKNOWN)
    assert len(wire.requests) > 1
    told = [stored.run.usage, stored.steps[0].usage, stored.model_calls[0].usage]
    assert told == [UNKNOWN] * 3


def test_people_read_that_the_usage_is_unknown(wire: Any, tmp_path: Path) -> None:
    wire.play([broken("truncate")])
    file = '[agents.desk]\nmodel = "openai:gpt-5.2"\nretry = { total_s = 0 }\n\n[plugins.openai]\n'
    file += f'base_url = "{wire.openai_url}"\napi_key = "{KEY}"\n'
    (tmp_path / "wakeful.toml").write_text(file, encoding="utf-8")

    def wakeful(*args: str) -> str:
        command = [sys.executable, "-m", "wakeful", *args]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False
        )
        return done.stdout

    wakeful("run", "desk", "Hello")
    (run,) = json.loads(wakeful("runs", "list", "--json"))["runs"]
    assert (run["usage"]["input"], run["usage"]["reported"]) == (0, False)
    shown = wakeful("runs", "show", run["id"])
    assert shown.count("usage: in 0 (read 0, written 0), out 0 (not reported)") == 2
