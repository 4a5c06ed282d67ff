"""Measure a loop: seconds and peak memory over many rows, and over a tenth of them.

    python plugins/recovery/bench/loop.py [--rows 10000] [--effect read] [--json]

Each figure is of a process of its own, on SQLite. ``external`` actions must not run twice, so their intents
wait for the disk; ``read`` ones do not. Exit code 1 if the peak is more than 1.2 times that of a tenth of the
rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WORKER = Path(__file__).parent.parent / "tests" / "loop_worker.py"
GROWTH = 1.2


def measured(rows: int, effect: str) -> dict[str, Any]:
    """Return what one process took."""
    with tempfile.TemporaryDirectory(prefix="wakeful-loop-") as folder:
        began = time.perf_counter()
        command = [sys.executable, str(WORKER), folder, str(rows), effect]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found = json.loads(out.splitlines()[-1])
    peak = round(found["peak"] / 1024, 1)
    return {
        "rows": rows,
        "seconds": round(time.perf_counter() - began, 2),
        "cpu": found["cpu"],
        "peak MB": peak,
    }


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--effect", choices=("read", "write", "external"), default="read")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    figures = [measured(rows, args.effect) for rows in (args.rows // 10, args.rows)]
    if args.json:
        print(json.dumps(figures))
    else:
        for each in figures:
            print(
                ", ".join(
                    f"{value} {name}" if name == "rows" else f"{name} {value}" for name, value in each.items()
                )
            )
    return 1 if figures[1]["peak MB"] > GROWTH * figures[0]["peak MB"] else 0


if __name__ == "__main__":
    sys.exit(main())
