"""The command that measures what a step costs runs, and gives the figures that it promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COMMAND = Path(__file__).parents[1] / "bench" / "overhead.py"


def test_the_overhead_is_measured_for_both_providers() -> None:
    few = ["--rounds", "1", "--turns", "1", "--many", "2", "--json"]
    done = subprocess.run([sys.executable, str(COMMAND), *few], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"bare/anthropic", "bare/openai", "wakeful/anthropic", "wakeful/openai"}
    for name, row in found.items():
        assert set(row) == {"cpu_ms_per_step", "ratio", "steps_per_s_200", "ratio_200", "rss_mb"}
        assert all(value > 0 for value in row.values())
        bare = found[f"bare/{name.rpartition('/')[2]}"]
        assert abs(row["ratio"] - row["cpu_ms_per_step"] / bare["cpu_ms_per_step"]) < 0.01
