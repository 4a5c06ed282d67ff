"""The real engine: its cache, its streams, its tools, and what becomes of it."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import wakeful
from contrib.llamacpp.tests.conftest import used
from wakeful.testing.processes import children
from wakeful.types import (
    ActionEnded,
    Call,
    ModelError,
    Request,
    Result,
    RunStatus,
    Text,
    Tool,
    Usage,
)
from wakeful_llamacpp.files import model_file

#: Whatever the model would say, it says this: an action to run.
ACT = json.dumps(
    {"message": "", "next": {"type": "actions", "actions": [{"name": "find_invoice", "args": {"number": 7}}]}}
)
ACTS = f"root ::= {json.dumps(ACT)}"
INVOICE = Tool(
    "find_invoice", "Find an invoice.", {"type": "object", "properties": {"number": {"type": "integer"}}}
)


ROOT = Path(__file__).parents[3]


async def turn(app: Any, text: str) -> list[Any]:
    return [event async for event in app.stream("agent", text, conversation="c-1")]


def kept(usages: list[Usage]) -> list[float]:
    """Return for each request after the first the part of the one before it that the engine had cached."""
    return [now.read / (before.read + before.uncached) for before, now in pairwise(usages)]


async def test_a_conversation_of_four_steps_is_cached_by_the_engine(desk: Any, opened: Any) -> None:
    async with opened(desk()) as app:
        assert not app.problems("agent")
        turns = [await turn(app, f"Who owes us money for invoice {number}?") for number in range(4)]
    usages = [usage for events in turns for usage in used(events)]
    assert len(usages) == 4
    assert usages[0].read == 0
    assert usages[0].uncached > 120  # the tools are in the prompt
    assert min(kept(usages)) >= 0.95
    assert all(usage.reported and usage.cost == 0.0 and 0 < usage.output <= 24 for usage in usages)


async def test_four_steps_of_one_turn_act_through_text(desk: Any, opened: Any) -> None:
    wordy = {"max_tokens": 60, "extra": {"temperature": 0, "seed": 1, "grammar": ACTS}}
    async with opened(desk(4, plain=True, **wordy)) as app:
        events = await turn(app, "Look at invoices until I stop you.")
    ended = [event for event in events if isinstance(event, ActionEnded)]
    usages = used(events)
    assert len(ended) == len(usages) == 4
    assert all(event.result.success for event in ended)
    assert min(kept(usages)) >= 0.95


async def test_replies_stream(desk: Any, opened: Any) -> None:
    pieces: list[str] = []

    async def show(delta: Any) -> None:
        pieces.append(delta.text)

    async with opened(desk()) as app:
        request = Request(model="x", tools=(), system=(), items=(Text("user", "Count to a hundred."),))
        reply = await app.agents["agent"].model.complete(request, "c-1", show)
    assert len(pieces) >= 10
    assert "".join(pieces) == "".join(item.text for item in reply.items if isinstance(item, Text))


async def test_calls_and_results_in_the_history_are_read_by_the_engine(desk: Any, opened: Any) -> None:
    async with opened(desk()) as app:
        model = app.agents["agent"].model
        asked = (Text("user", "Who owes us for invoice 7?"),)
        answered = (
            *asked,
            Call("c1", "find_invoice", '{"number": 7}'),
            Result("c1", "Bolt Ltd owes 120 euros."),
        )
        sizes = []
        for items, tools in ((asked, ()), (asked, (INVOICE,)), (answered, (INVOICE,))):
            request = Request(model="x", tools=tools, system=("You are a desk.",), items=items)
            usage = (await model.complete(request, "c-1")).usage
            sizes.append(usage.read + usage.uncached)
    assert sizes[0] + 40 < sizes[1] < sizes[2] - 25  # each part is in the prompt


async def test_an_engine_that_ends_is_started_again(desk: Any, opened: Any) -> None:
    async with opened(desk()) as app:
        model = app.agents["agent"].model.models[0][1]
        request = Request(model="x", tools=(), system=(), items=(Text("user", "Count to a hundred."),))
        await model.complete(request, "c-1")
        (first,) = children()
        killed = False

        async def kill(_: Any) -> None:
            nonlocal killed
            if not killed:
                killed = True
                os.kill(first, signal.SIGKILL)

        with pytest.raises(
            ModelError, match=r"the engine ended in the middle of a request \(signal 9\)"
        ) as info:
            await model.complete(request, "c-1", kill)
        assert (info.value.kind, info.value.retryable) == ("network", True)
        assert (await model.complete(request, "c-1")).usage.output > 0
        (second,) = children()
        assert second != first


async def test_two_applications_have_an_engine_each(desk: Any, opened: Any) -> None:
    async with opened(desk()) as one:
        async with wakeful.open(desk()) as two:
            assert len(children()) == 2
            answers = await asyncio.gather(one.send("agent", "Hi"), two.send("agent", "Hi"))
        assert len(children()) == 1
        again = await one.send("agent", "Hi")
    assert {answer.status for answer in (*answers, again)} == {RunStatus.COMPLETED}


async def test_a_file_that_does_not_load_is_one_clear_error(desk: Any, opened: Any, tmp_path: Path) -> None:
    whole = model_file("default", tmp_path)
    with whole.open("rb") as file:
        (tmp_path / "cut.gguf").write_bytes(file.read(3_000_000))
    async with opened(evolve(desk(), model="llamacpp:cut.gguf")) as app:
        answer = await app.send("agent", "Hi")
    assert answer.status is RunStatus.FAILED
    assert "llamacpp: the engine did not start" in answer.error
    assert "model is corrupted or incomplete" in answer.error


ORPHAN = """
import asyncio, wakeful
from wakeful import Agent
from wakeful.testing.processes import children

async def main():
    agent = Agent(model="llamacpp:default", settings={"llamacpp": {"threads": 1, "context": 512}})
    async with wakeful.open(agent):
        (engine,) = children()
        print(engine, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def test_an_engine_ends_with_a_process_that_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert parent.stdout is not None
    with parent.stdout:
        engine = int(parent.stdout.readline())
        watched = os.pidfd_open(engine)
        parent.kill()
        parent.wait()
    ended, _, _ = select.select([watched], [], [], 30)
    os.close(watched)
    assert ended
