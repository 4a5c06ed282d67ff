"""Killed anywhere: never a handle without content, never content without an owner after cleaning up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.counts import examples


def test_a_turn_killed_anywhere_leaves_nothing_behind_and_goes_on(tmp_path: Path) -> None:
    program = Path(__file__).with_name("kills.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program), str(tmp_path), str(examples(120))],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    first, *points = [json.loads(line) for line in done.stdout.splitlines()]
    assert first["status"] == 0, f"{first}\n{done.stderr[-2000:]}"
    assert first["points"] > 100
    assert len(points) >= min(examples(120), first["points"])
    assert [point for point in points if point["problems"]] == []
    assert sum(point["killed"] for point in points) >= len(points) - 2
