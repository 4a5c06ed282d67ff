"""Whatever a model asks ends in time, in bounded memory, and touches no file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wakeful.store.files import FileStore
from wakeful.types import ActionError, Files
from wakeful_spillover.engine import Engine
from wakeful_spillover.jobs import Job, Runner
from wakeful_spillover.paths import found as at_path
from wakeful_spillover.patterns import compiled
from wakeful_spillover.sources import Sources

#: Nested repetition: an engine that backtracks needs 2**n steps.
CATASTROPHIC = ["(a|aa)+$", "(a+)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*x", "(x+x+)+y"]


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_no_pattern_hangs(ask: Any, pattern: str) -> None:
    began = time.process_time()
    asked = ask([("a" * 5_000 + "!\n") * 200], "artifact_text", pattern=pattern, limit=1)
    assert asked.ended.result.success
    assert time.process_time() - began < 20


def test_no_pattern_hangs_inside_a_path() -> None:
    value = [{"t": "a" * 20_000 + "!"} for _ in range(20)]
    for pattern in CATASTROPHIC:
        path = f"$[?match(@.t, '{pattern.replace('$', '')}')]"
        assert list(at_path(path, value, lambda: None)) == []


def test_a_pattern_that_would_take_much_memory_is_refused() -> None:
    with pytest.raises(ActionError, match="INVALID_PATTERN"):
        compiled("((a{100}){100}){100}")


async def test_a_heavy_query_is_stopped_and_the_next_one_runs(tmp_path: Path) -> None:
    engine, runner, files = Engine(128), Runner(0.5), FileStore(tmp_path)

    def query(sql: str) -> Any:
        def work(job: Job) -> Any:
            with engine.cursor(job, files) as cursor:
                return cursor.execute(sql).fetchone()

        return runner.run(work)

    heavy = "SELECT count(*) FROM range(10_000_000) a, range(10_000_000) b WHERE a.range * b.range % 7 = 3"
    began = time.monotonic()
    with pytest.raises(ActionError, match="QUERY_STOPPED"):
        await query(heavy)
    assert time.monotonic() - began < 5
    assert await query("SELECT 42") == (42,)
    task = asyncio.create_task(query(heavy))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(engine.close)


async def test_memory_of_queries_is_bounded(tmp_path: Path) -> None:
    engine, runner, files = Engine(64), Runner(60), FileStore(tmp_path)

    def work(job: Job) -> Any:
        with engine.cursor(job, files) as cursor:
            return cursor.execute("SELECT list(range) FROM range(30_000_000)").fetchone()

    with pytest.raises(ActionError, match="QUERY_TOO_LARGE"):
        await runner.run(work)
    await asyncio.to_thread(engine.close)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/wakeful-spillover-test'",
        "ATTACH '/tmp/wakeful-spillover-test.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
    ],
)
async def test_the_engine_touches_nothing_but_the_file_store(tmp_path: Path, sql: str) -> None:
    engine, files = Engine(64), FileStore(tmp_path / "files")

    def work(job: Job) -> Any:
        with engine.cursor(job, files) as cursor:
            return cursor.execute(sql).fetchall()

    with pytest.raises(ActionError, match="QUERY_FAILED"):
        await Runner(10).run(work)
    await asyncio.to_thread(engine.close)
    assert not Path("/tmp/wakeful-spillover-test").exists()  # noqa: S108  # it must not be made


def test_a_path_that_multiplies_is_stopped() -> None:
    job = Job(0.3)
    value: Any = 1
    for _ in range(14):
        value = [value, value, value]
    began = time.monotonic()
    with pytest.raises(ActionError, match="QUERY_STOPPED"):
        list(at_path("$..[?count($..*) > count(@..*)]..*", value, job.check))
    assert time.monotonic() - began < 10


def test_a_query_over_the_time_limit_is_a_failed_result(ask: Any) -> None:
    rows = [{"n": number, "t": f"text {number}"} for number in range(20_000)]
    asked = ask(
        [lambda: iter(rows)],
        "artifact_json",
        path="$[?count($..*) > 3].n",
        settings={"timeout_s": 0.5},
    )
    assert (asked.code, asked.ended.result.success) == ("QUERY_STOPPED", False)
    assert "Filter first" in asked.ended.text


async def test_a_table_of_a_content_that_is_forgotten_meanwhile_is_not_kept(tmp_path: Path) -> None:
    files = FileStore(tmp_path)
    ref = await files.put(b'{"n":1}\n' * 1_000)
    found: Any = SimpleNamespace(form="records", ref=ref, columns=(("n", "integer"),))

    class Forgetting(Engine):
        @contextmanager
        def cursor(self, job: Job, files: Files) -> Iterator[Any]:
            with super().cursor(job, files) as cursor:
                yield cursor
            FileStore(tmp_path).remove([ref])

    engine = Forgetting(128)
    sources = Sources(engine, Runner(60))
    await sources.ready(files, found)
    await sources.close()
    await asyncio.to_thread(engine.close)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
