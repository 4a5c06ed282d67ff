"""A real subprocess that proposes steps: a good one, and every bad one."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import wakeful
from tests.toys import Desk
from wakeful import Agent, action
from wakeful.store.tables import model_call, step
from wakeful.testing import ScriptedModel
from wakeful.types import Answer, ConfigError, Limits, RunStatus
from wakeful_agents.external.family import marked

HARNESS = Path(__file__).parent / "harness.py"
paid: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


@action(effect="read", output_trust="trusted")
async def ping(word: str = "") -> str:
    """Ping."""
    return f"pong {word}"


@action(effect="write", output_trust="trusted")
async def pay(euros: int) -> str:
    """Pay; the desk holds more than 50."""
    paid.append(euros)
    return "paid"


def agent(what: str, *, limits: Limits = Limits(), **settings: Any) -> Agent:  # noqa: B008  (frozen)
    command = [sys.executable, str(HARNESS), what]
    return Agent(
        model=ScriptedModel([]),
        actions=[ping, pay],
        plugins=["external", Desk],
        settings={"external": {"command": command, "timeout_s": 20.0, **settings}},
        type="external",
        limits=limits,
    )


async def turn(what: str, **of: Any) -> Answer:
    async with wakeful.open(agent(what, **of)) as app:
        answer = await app.send("agent", "Go")
        assert app.agents["agent"].type._processes == {}  # type: ignore[attr-defined]  # noqa: SLF001  (nothing is left open)
        return answer


async def test_a_harness_is_held_to_what_holds_for_a_model() -> None:
    async with wakeful.open(agent("scripted")) as app:
        answer = await app.send("agent", "Go")
        assert (answer.status, answer.error, paid) == (RunStatus.AWAITING_APPROVAL, "", [])
        steps = await app.store.read(lambda conn: conn.execute(select(step.c.type, step.c.status)).all())
        assert [tuple(each) for each in steps] == [("external", "closed")] * 2
        assert await app.store.read(lambda conn: conn.execute(select(model_call)).all()) == []


async def test_a_decision_starts_a_new_harness_that_is_told_everything() -> None:
    async with wakeful.open(agent("resumed")) as app:
        answer = await app.send("agent", "Go")
        assert answer.status is RunStatus.AWAITING_APPROVAL
        await app.approvals.approve(answer.pending[0], by="ana")
        answer = await app.resume(answer.run_id)
        assert (answer.status, paid) == (RunStatus.COMPLETED, [100])
        assert answer.text.startswith("True A person decided about the call")


async def test_what_is_wrong_is_told_and_can_be_mended() -> None:
    answer = await turn("mends")
    assert (answer.status, answer.text) == (RunStatus.COMPLETED, "calls: expected a list of 1 to 32 calls")


@pytest.mark.parametrize(
    ("what", "settings", "said"),
    [
        ("flood", {"max_lines": 50}, "the harness sent 50 lines without proposing a step"),
        ("long_line", {}, "the harness sent a line that is too long"),
        ("wrong", {}, "the harness sent 3 wrong messages: unknown type 'dance'"),
        ("silent", {"timeout_s": 0.3}, "the harness proposed nothing within 0.3 seconds"),
        ("exits", {}, "the harness ended with code 7: out of memory"),
        ("waits", {}, "the harness waits for a decision, and no call is held"),
        ("no_such_thing", {}, "the harness ended with code 1"),
    ],
)
async def test_a_hostile_harness_ends_as_a_failed_run(what: str, settings: dict[str, Any], said: str) -> None:
    answer = await turn(what, **settings)
    assert answer.status is RunStatus.FAILED
    assert answer.error.startswith(said), answer.error


async def test_one_that_never_reads_is_given_up() -> None:
    async with wakeful.open(agent("deaf", timeout_s=0.5)) as app:
        answer = await app.send("agent", "x" * 2_000_000)
    assert answer.error == "the harness proposed nothing within 0.5 seconds"


async def test_one_that_writes_much_to_standard_error_is_not_held_up() -> None:
    assert (await turn("errors")).text == "Still here."


async def test_the_limits_of_the_run_hold() -> None:
    answer = await turn("many", limits=Limits(steps=5))
    assert (answer.status, answer.error) == (RunStatus.LIMIT_REACHED, "the limit of 5 steps")
    answer = await turn("silent", limits=Limits(seconds=0.3))
    assert (answer.status, answer.error) == (RunStatus.LIMIT_REACHED, "the limit of 0.3 seconds")


@pytest.mark.parametrize("what", ["children", "detached"])
async def test_what_it_started_ends_with_it(what: str) -> None:
    children = [int(pid) for pid in (await turn(what)).text.split()]
    assert children
    for _ in range(100):
        if not any(_runs(child) for child in children):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"of {children} some run on")


@pytest.mark.parametrize("what", ["leaves", "stubborn"])
async def test_one_that_will_not_end_is_ended(what: str) -> None:
    answer = await turn(what, timeout_s=2.0)
    assert answer.error == "the harness proposed nothing within 2 seconds"
    assert marked(answer.run_id) == []


async def test_what_no_database_holds_is_replaced() -> None:
    answer = await turn("unwritable")
    assert (answer.error, answer.text) == ("", "UNKNOWN_TOOL SUCCESS\ufffd\ufffd")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


async def test_cancelling_the_run_ends_it() -> None:
    async with wakeful.open(agent("silent")) as app:
        task = asyncio.ensure_future(app.send("agent", "Go"))
        kind: Any = app.agents["agent"].type
        while not kind._processes:  # noqa: ASYNC110, SLF001  (until it is there)
            await asyncio.sleep(0.01)
        (process,) = kind._processes.values()  # noqa: SLF001  (to end it)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert process.process.returncode is not None


async def test_secrets_of_the_environment_are_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("HARNESS_MODE", "quick")
    given = (await turn("secrets", environment=["HARNESS_MODE"])).text.split(",")
    assert "HARNESS_MODE" in given
    assert "ANTHROPIC_API_KEY" not in given


async def test_a_program_that_is_not_there_and_one_that_is_not_named() -> None:
    missing = agent("x", command=["no-such-program"])
    async with wakeful.open(missing) as app:
        answer = await app.send("agent", "Go")
    assert answer.error == "the harness cannot be started: No such file or directory"
    async with wakeful.open(agent("x", command=[])) as app:
        with pytest.raises(ConfigError, match=r"plugins.external.command: expected a program"):
            await app.send("agent", "Go")
