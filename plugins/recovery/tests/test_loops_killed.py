"""A loop whose process is killed goes on in another one and repeats nothing that must not run twice."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy import select

from tests.counts import THOROUGH, examples, profile
from wakeful.loop.transcript import load_rows
from wakeful.store.engine import Store
from wakeful.store.tables import action_call
from wakeful.system import SystemClock

WORKER = Path(__file__).with_name("loop_worker.py")
#: Rows of the loop; all of the issue's when thorough.
ROWS = 10_000 if profile() == THOROUGH else 600
#: How many iterations run at the same time by default: as many may be under way when a process ends.
AT_ONCE = 8
PATIENCE_S = 300.0


def started(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(folder), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def done(folder: Path) -> list[int]:
    file = folder / "done"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def executed(folder: Path) -> int:
    """Count the executions so far, fast enough to be asked all the time."""
    file = folder / "done"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def journal(folder: Path) -> tuple[list[Any], str]:
    async def read() -> tuple[list[Any], str]:
        store = await Store.open(f"sqlite:///{folder / 'wakeful.db'}", clock=SystemClock())
        try:
            query = select(action_call).where(action_call.c.parent.is_not(None))
            calls = await store.read(lambda conn: conn.execute(query).all())
            rows = await store.read(lambda conn: load_rows(conn, "c"))
            return list(calls), rows[-2].text
        finally:
            await store.close()

    return asyncio.run(read())


def test_a_loop_that_is_killed_again_and_again_repeats_no_once_action(tmp_path: Path) -> None:
    rng, kills = random.Random(7), max(2, examples(20))  # noqa: S311  (moments are drawn)
    points = sorted(rng.sample(range(1, ROWS - 20), kills))
    for point in points:
        process = started(tmp_path, ROWS)
        until = time.monotonic() + PATIENCE_S
        while executed(tmp_path) < point and process.poll() is None:
            assert time.monotonic() < until, "the loop does not go on"
            time.sleep(0.002)
        process.kill()
        process.communicate()
    answer = ended(started(tmp_path, ROWS))
    assert answer["status"] == "completed", answer
    assert answer["text"] == "Done."
    assert max(Counter(done(tmp_path)).values()) == 1, "a call that must not run twice did"
    calls, told = journal(tmp_path)
    assert len(calls) == ROWS + 1
    counts = Counter(call.status for call in calls)
    assert counts["done"] + counts["unknown"] == ROWS + 1
    assert counts["unknown"] <= AT_ONCE * kills
    assert {call.code for call in calls if call.status == "unknown"} <= {"OUTCOME_UNKNOWN"}
    missing = set(range(ROWS)) - set(done(tmp_path))
    assert len(missing) <= counts["unknown"], "what was left out is told as unknown"
    assert f"{ROWS:,} processed, {counts['unknown']:,} failed" in told


def test_memory_does_not_grow_with_the_number_of_iterations(tmp_path: Path) -> None:
    peaks = []
    for rows in (ROWS // 10, ROWS):
        folder = tmp_path / str(rows)
        folder.mkdir()
        answer = ended(started(folder, rows, "read"))
        assert answer["status"] == "completed"
        assert sorted(done(folder)) == list(range(rows))
        peaks.append(answer["peak"])
    assert peaks[1] <= 1.2 * peaks[0]
