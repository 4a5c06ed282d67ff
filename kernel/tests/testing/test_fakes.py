"""The fakes themselves: time, ids, scripted models, turns without an event loop, fixtures."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from wakeful import Agent, action, hookimpl
from wakeful.testing import Database, FakeClock, FakeIds, Gate, ScriptedModel, run_turn, say, shown
from wakeful.types import (
    Call,
    ConfigError,
    ModelError,
    Opaque,
    Reply,
    Request,
    RunStatus,
    Section,
    Stop,
    Text,
    TextDelta,
)

REQUEST = Request("scripted:any", (), (), ())


# ---- time


def test_time_moves_only_when_the_test_says_so() -> None:
    clock = FakeClock()
    began = clock.now()
    assert clock.now() == began
    clock.advance(90)
    assert clock.now() - began == timedelta(seconds=90)
    assert clock.monotonic() == 90
    assert began.utcoffset() == timedelta(0)
    with pytest.raises(ValueError, match="forwards only"):
        clock.advance(-1)


async def test_sleepers_wake_when_their_time_has_come() -> None:
    clock, woken = FakeClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    tasks = [asyncio.ensure_future(sleeper(seconds)) for seconds in (3, 1, 2)]
    await asyncio.sleep(0)
    assert clock.sleeping == 3
    clock.advance(2)
    await asyncio.gather(*tasks[1:])
    assert woken == [1, 2]
    assert clock.sleeping == 1
    clock.advance(1)
    await tasks[0]


async def test_time_elapses_from_sleeper_to_sleeper() -> None:
    clock, seen = FakeClock(), []

    async def every(seconds: float, name: str) -> None:
        while True:
            await clock.sleep(seconds)
            seen.append((clock.monotonic(), name))

    tasks = [asyncio.ensure_future(every(2, "two")), asyncio.ensure_future(every(3, "three"))]
    await clock.elapse(6.5)
    assert seen == [(2, "two"), (3, "three"), (4, "two"), (6, "three"), (6, "two")]
    assert clock.monotonic() == 6.5
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert clock.sleeping == 0


async def test_a_sleep_counts_from_the_call() -> None:
    clock = FakeClock()
    task = asyncio.ensure_future(clock.sleep(5))
    clock.advance(5)  # before the task has begun
    await asyncio.wait_for(task, 1)


# ---- identity


def test_ids_are_the_same_in_every_run() -> None:
    one, other = FakeIds(), FakeIds()
    made = [
        (ids.new("run"), ids.new("run"), ids.new("conv"), ids.secret(), ids.secret()) for ids in (one, other)
    ]
    assert made[0] == made[1]
    assert made[0][:3] == ("run-1", "run-2", "conv-1")
    assert made[0][3] != made[0][4]
    assert len(made[0][3]) == 32
    assert FakeIds("other").secret() != made[0][3]


# ---- scripted models


async def test_a_script_is_written_compactly() -> None:
    model = ScriptedModel(
        [
            "Hello.",
            say("Wait.", thinking="Hm.", calls=["ping", ("add", {"b": 2, "a": 1}), ("raw", "{broken")]),
            Reply((Text("assistant", "Whole."),), stop=Stop.REFUSED),
            say("Cut", stop="length", usage={"output": 7}),
            lambda request: f"You sent {len(request.items)} items.",
        ]
    )
    replies = [await model.complete(REQUEST, "c") for _ in model.replies]
    assert replies[0] == Reply((Text("assistant", "Hello."),))
    assert replies[1].items == (
        Opaque("scripted", {"type": "thinking", "thinking": "Hm."}),
        Text("assistant", "Wait."),
        Call("call_2_1", "ping", "{}"),
        Call("call_2_2", "add", '{"a":1,"b":2}'),
        Call("call_2_3", "raw", "{broken"),
    )
    assert replies[1].stop is Stop.CALLS
    assert replies[2].stop is Stop.REFUSED
    assert (replies[3].stop, replies[3].usage.output) == (Stop.LENGTH, 7)
    assert replies[4].items == (Text("assistant", "You sent 0 items."),)
    assert model.requests == [REQUEST] * 5


async def test_a_script_fails_when_it_says_so_and_when_it_is_over() -> None:
    model = ScriptedModel([ModelError("auth", "no key"), say(error=ModelError("server", "down"))])
    for message in ("no key", "down", "the script has 2 replies, and reply 3 was asked for"):
        with pytest.raises(ModelError, match=message):
            await model.complete(REQUEST, "c")


async def test_every_conversation_begins_at_the_first_reply() -> None:
    model = ScriptedModel(["One.", "Two."])
    said = [shown((await model.complete(REQUEST, name)).items[0]) for name in ("a", "b", "a", "b")]
    assert said == ["One.", "One.", "Two.", "Two."]


async def test_a_reply_waits_at_its_gate_and_streams() -> None:
    gate, pieces = Gate(), []

    async def emit(delta: Any) -> None:
        pieces.append(delta)

    model = ScriptedModel([say("A rather long reply.", thinking="Hm.", wait=gate)])
    asking = asyncio.ensure_future(model.complete(REQUEST, "c", emit))
    await gate.reached()
    assert not asking.done()
    assert pieces == []
    gate.open()
    await asking
    assert pieces[0] == TextDelta("Hm.", thinking=True)
    assert "".join(piece.text for piece in pieces[1:]) == "A rather long reply."
    assert len(pieces) > 2


# ---- turns without an event loop


class Hello:
    """Greets."""

    @hookimpl
    def prompt_sections(self) -> Any:
        return [Section("hello", 10, "Greet everybody.")]

    @hookimpl
    def tool_actions(self) -> Any:
        @action(effect="read", output_trust="trusted")
        async def greet(who: str) -> str:
            """Greet.

            Args:
                who: whom.
            """
            return f"Hello, {who}!"

        return [greet]


@pytest.mark.parametrize("subject", [Hello, Hello(), Agent(model="", plugins=[Hello])])
def test_a_plugin_is_tried_in_one_line(subject: Any) -> None:
    result = run_turn(subject, "Hi", replies=[say(calls=[("greet", {"who": "Ada"})]), "Done."])
    assert result.answer.text == "Done."
    assert result.calls[0].result.outputs == {"result": "Hello, Ada!"}
    assert result.requests[0].system == ("Greet everybody.",)
    assert [row.seq for row in result.rows] == [1, 2, 3, 4]


def test_an_agent_of_a_file_is_tried_with_scripted_replies(tmp_path: Path) -> None:
    file = tmp_path / "wakeful.toml"
    file.write_text('[agents.desk]\nmodel = "nobody:knows"\ninstructions = "Be brief."\n')
    result = run_turn(file, "Hi", "Again", replies=["Hello.", "Hello again."])
    assert [answer.text for answer in result.answers] == ["Hello.", "Hello again."]
    assert result.requests[1].system == ("Be brief.",)
    assert (tmp_path / "wakeful.db").exists()
    assert run_turn(file, "Hi", replies=["Once more."]).answer.run_id == "run-3"
    file.write_text('[agents.a]\nmodel = "x:y"\n[agents.b]\nmodel = "x:y"\n')
    with pytest.raises(ValueError, match=r"several agents; say agent=\.\.\., one of a, b"):
        run_turn(file, "Hi", replies=["Hello."])
    assert run_turn(file, "Hi", replies=["Hello."], agent="b").answer.text == "Hello."


def test_an_agent_that_cannot_be_built_says_why() -> None:
    class Misspelt:
        @hookimpl
        def prompt_section(self) -> Any:
            return []

    with pytest.raises(ConfigError, match=r"prompt_section is not a hook; did you mean 'prompt_sections'\?"):
        run_turn(Misspelt(), "Hi", replies=["Hello."])


async def test_run_turn_in_an_async_test_says_what_to_use() -> None:
    with pytest.raises(RuntimeError, match=r"wakeful\.open"):
        run_turn(Hello(), "Hi", replies=["Hello."])


def test_run_turn_needs_a_text_and_replies() -> None:
    with pytest.raises(ValueError, match="at least one turn"):
        run_turn(Hello(), replies=["Hello."])
    with pytest.raises(ValueError, match="replies="):
        run_turn(Hello(), "Hi")


# ---- fixtures


async def test_the_store_is_migrated_and_read_past_wakeful(store: Database, clock: FakeClock) -> None:
    assert store.rows("select count(*) as n from run") == [{"n": 0}]
    async with store.open() as opened:
        count = await opened.read(lambda conn: conn.exec_driver_sql("select count(*) from run").scalar_one())
        assert opened.clock is clock
    assert count == 0


async def test_an_application_of_a_test_uses_its_fakes(
    wakeful_app: Any, store: Database, clock: FakeClock, ids: FakeIds, tmp_path: Path
) -> None:
    async with wakeful_app(Agent(model=ScriptedModel(["Hello."]))) as app:
        answer = await app.send("agent", "Hi")
    assert (answer.run_id, answer.conversation) == ("run-1", "conv-1")
    assert answer.status is RunStatus.COMPLETED
    (run,) = store.rows("select started_at from run")
    assert run["started_at"].startswith(f"{clock.now():%Y-%m-%d %H:%M:%S}")


def test_fixtures_need_no_plugin_for_async_tests(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from wakeful import Agent\n"
        "def test_it(run_turn, store, clock):\n"
        "    clock.advance(5)\n"
        "    result = run_turn(Agent(model=''), 'Hi', replies=['Hello.'])\n"
        "    assert result.answer.text == 'Hello.'\n"
        "    assert store.rows('select status from run') == [{'status': 'completed'}]\n"
    )
    options = ["-q", "-p", "no:asyncio", "-p", "no:cacheprovider", "-W", "error"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout


def test_the_pytest_plugin_is_light() -> None:
    code = (
        "import sys; import pytest; before = set(sys.modules); import wakeful.testing.plugin;"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.split() == ["wakeful"]
