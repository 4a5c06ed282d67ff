"""Measure what ``import wakeful`` and ``wakeful --help`` add to a bare interpreter.

    python bench/startup.py [--runs 21] [--json] [--check]

The commands take turns, so that a busy moment of the machine hits all of them; medians are compared. Run it
where every plugin is installed and compiled (``UV_COMPILE_BYTECODE=1 uv sync --inexact --all-packages``).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BARE = "python -c pass"
#: Milliseconds that each command may add to the bare interpreter, where that starts in so many milliseconds;
#: on a slower machine, or at a slower moment of one, as much more as the bare interpreter takes longer.
ALLOWED, BARE_MS = {"import wakeful": 120.0, "wakeful --help": 250.0}, 17.0


def commands() -> dict[str, list[str]]:
    """Return the command lines, the bare interpreter first."""
    script = Path(sys.executable).with_name("wakeful")
    return {
        BARE: [sys.executable, "-c", "pass"],
        "import wakeful": [sys.executable, "-c", "import wakeful"],
        "wakeful --help": [str(script), "--help"],
    }


def milliseconds(command: list[str]) -> float:
    """Run a command and return how long it took."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment)
    return (time.perf_counter() - started) * 1000


def measure(runs: int) -> dict[str, dict[str, float]]:
    """Return for each command its median, what it adds to the bare interpreter, both in ms, and the ratio."""
    lines = commands()
    for command in lines.values():  # the first run of each compiles and fills the file cache
        milliseconds(command)
    times: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(runs):
        for name, command in lines.items():
            times[name].append(milliseconds(command))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    bare = medians[BARE]
    return {
        name: {"median_ms": round(ms, 1), "added_ms": round(ms - bare, 1), "ratio": round(ms / bare, 2)}
        for name, ms in medians.items()
    }


def main() -> int:
    """Print the table; with ``--check`` return 1 if a command adds more than it may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=21, help="runs of each command")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="fail if a command adds more than it may")
    options = parser.parse_args()
    found = measure(options.runs)
    slower = max(1.0, found[BARE]["median_ms"] / BARE_MS)
    most = {name: ms * slower for name, ms in ALLOWED.items()}
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        print(f"{'command':<16}{'median':>10}{'added':>10}{'ratio':>8}{'allowed':>10}")
        for name, row in found.items():
            allowed = f"{most[name]:.0f} ms" if name in most else ""
            figures = f"{row['median_ms']:>7.1f} ms{row['added_ms']:>7.1f} ms{row['ratio']:>8.2f}"
            print(f"{name:<16}{figures}{allowed:>10}")
    slow = [name for name, ms in most.items() if found[name]["added_ms"] > ms]
    if options.check and slow:
        print(f"too slow: {', '.join(slow)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
