"""Below 65 % of the budget the lifecycle changes nothing of what was sent: the workload of twelve turns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(__file__).parents[1] / "bench" / "workload.py"


def test_the_workload_has_no_break_of_the_prefix() -> None:
    for package in ("wakeful_cache", "wakeful_recovery", "wakeful_anthropic", "wakeful_openai"):
        pytest.importorskip(package)
    command = [sys.executable, str(COMMAND), "--only", "inline+lifecycle", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert {row["protocol"] for row in rows} == {"anthropic", "openai"}
    for row in rows:
        assert (row["requests"], row["breaks"], row["declared"]) == (36, 0, 0), row
