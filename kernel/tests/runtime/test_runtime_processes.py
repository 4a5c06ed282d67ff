"""Several processes on one queue: killed, stalled, and competing. On the real clock, with short leases."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import text

from wakeful.runtime import EmbeddedRuntime
from wakeful.store.engine import Store
from wakeful.system import SystemClock
from wakeful.testing import Database
from wakeful.types import WorkItem, WorkStatus

WORKER = Path(__file__).with_name("runtime_worker.py")
LIMIT_S = 120.0
Worker = subprocess.Popen[str]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql"))
    database: Database = request.getfixturevalue("store")
    return database.url


@pytest_asyncio.fixture
async def queue(url: str) -> AsyncIterator[Store]:
    store = await Store.open(url, clock=SystemClock())
    serial = "INTEGER PRIMARY KEY" if url.startswith("sqlite") else "SERIAL PRIMARY KEY"
    for table in (
        f"CREATE TABLE trace (id {serial}, item TEXT, key TEXT, who TEXT, what TEXT)",
        "CREATE TABLE inside (key TEXT PRIMARY KEY)",
    ):
        await store.write(lambda conn, table=table: conn.execute(text(table)) and None)  # type: ignore[misc]  # only its end counts
    yield store
    await store.close()


@pytest.fixture
def worker(url: str) -> Iterator[Callable[..., Worker]]:
    """Start processes that serve the queue; all are gone after the test."""
    started: list[Worker] = []

    def start(who: str, *, lease_s: float = 1.0, concurrency: int = 4, mode: str = "") -> Worker:
        settings = {"url": url, "who": who, "lease_s": lease_s, "concurrency": concurrency, "mode": mode}
        process = subprocess.Popen(
            [sys.executable, str(WORKER), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


async def submit(store: Store, *items: WorkItem) -> None:
    runtime = EmbeddedRuntime(store, store.clock, "the test")
    for item in items:
        assert await runtime.submit(item)


async def trace(store: Store) -> list[Any]:
    return await store.read(
        lambda conn: list(conn.execute(text("SELECT item, key, who, what FROM trace ORDER BY id")))
    )


async def until(store: Store, condition: Callable[[list[Any]], bool]) -> list[Any]:
    """Wait until the trace shows something."""
    begun = time.monotonic()
    while not condition(lines := await trace(store)):
        assert time.monotonic() - begun < LIMIT_S, f"it never happened; the last of the trace: {lines[-10:]}"
        await asyncio.sleep(0.02)
    return lines


async def status(store: Store, item_id: str) -> WorkStatus | None:
    return await EmbeddedRuntime(store, store.clock, "the test").status(item_id)


async def ended(store: Store, item_id: str) -> None:
    async with asyncio.timeout(LIMIT_S):
        while await status(store, item_id) is not WorkStatus.DONE:  # noqa: ASYNC110  (of another process)
            await asyncio.sleep(0.02)


async def test_a_killed_process_on_this_machine_is_noticed_before_its_lease_runs_out(
    queue: Store, worker: Callable[..., Worker]
) -> None:
    first = worker("first", lease_s=600.0)
    await submit(queue, WorkItem("a", "hold", "k"))
    await until(queue, bool)
    worker("second", lease_s=600.0)
    first.kill()
    killed = time.monotonic()
    lines = await until(queue, lambda lines: lines[-1].who == "second")
    # Looked for every second; the rest is what a busy machine takes.
    assert time.monotonic() - killed < 60.0
    assert lines[-1].what == "attempt 2"
    await ended(queue, "a")


async def test_a_killed_process_elsewhere_loses_its_items_with_its_lease(
    queue: Store, worker: Callable[..., Worker]
) -> None:
    first = worker("first", mode="stranger")
    await submit(queue, WorkItem("a", "hold", "k"), WorkItem("b", "hold", "k"))
    await until(queue, bool)
    first.kill()
    worker("second")
    lines = await until(
        queue, lambda lines: {"a", "b"} <= {line.item for line in lines if line.who == "second"}
    )
    assert {line.item for line in lines if line.who == "first"} == {"a"}
    await ended(queue, "a")


async def test_a_stalled_process_writes_nothing_after_its_items_were_taken_over(
    queue: Store, worker: Callable[..., Worker]
) -> None:
    first = worker("first")
    await submit(queue, WorkItem("a", "hold", "k"))
    await until(queue, bool)
    first.send_signal(signal.SIGSTOP)
    worker("second")
    await until(queue, lambda lines: lines[-1].who == "second")
    await ended(queue, "a")
    first.send_signal(signal.SIGCONT)
    # What it executes next shows that it is awake again, and has had its chance to go on with the old item.
    await submit(queue, *(WorkItem(f"more-{number}", "contest", f"k{number}") for number in range(40)))
    lines = await until(queue, lambda lines: sum(line.item.startswith("more") for line in lines) == 40)
    own = [line for line in lines if line.item == "a"]
    takeover = next(number for number, line in enumerate(own) if line.who == "second")
    assert {line.who for line in own[:takeover]} == {"first"}
    assert [(line.who, line.what) for line in own[takeover:]] == [("second", "attempt 2")]
    assert await status(queue, "a") is WorkStatus.DONE


async def test_five_processes_and_a_thousand_contested_items(
    queue: Store, worker: Callable[..., Worker]
) -> None:
    names = [f"i{number}" for number in range(1000)]
    await submit(queue, *(WorkItem(name, "contest", f"k{n % 10}") for n, name in enumerate(names)))
    workers = [worker(f"w{number}", lease_s=30.0) for number in range(5)]
    lines = await until(queue, lambda lines: len(lines) >= len(names))
    # Whoever had met another inside a key would have failed and needed a second attempt.
    assert Counter(line.what for line in lines) == {"attempt 1": len(names)}
    assert sorted(line.item for line in lines) == sorted(names)
    for process in workers:
        process.communicate(timeout=60)
        assert process.returncode == 0
