"""Measure what a step of an agent costs beside the model: CPU, throughput with 200 conversations, memory.

    python bench/overhead.py [--rounds 3] [--turns 12] [--many 200] [--json] [--only NAME]
                             [--peers DIR [--peers-python PATH]]

A scripted model server answers at once, in a process of its own. Each loop runs in a fresh process, one after
the other, round after round; CPU is that process's own time (user and system, all threads), so the server's
share is not in it. wakeful's figures include every write to its store. The 200 conversations share the
machine with the server. Ratios are to the bare loop of the same provider in the same run: medians of rounds.

With ``--peers`` the frameworks in that folder run the same workload; ``--peers-python`` is the interpreter
that has them installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import evolve
from beside import add_peers
from overhead_kit.loops import LOOPS
from overhead_kit.workload import TURNS, Workload, of_peers, own

HERE = Path(__file__).resolve().parent
PEERS = ("pydantic-ai/anthropic", "pydantic-ai/openai", "openai-agents/openai", "deepagents/anthropic")
MANY = 200
RESULT = "RESULT "


def status_mb(field: str) -> float:
    """Return a memory figure of this process in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


async def measure(name: str, load: Workload, url: str, many: int) -> dict[str, float]:
    """Run one loop: a conversation to warm up, two that are measured, then ``many`` of one turn at once."""
    pid = os.getpid()
    with tempfile.TemporaryDirectory() as folder:
        async with LOOPS[name](load, url, folder) as converse:
            await converse(f"{pid}warm", load.turns)
            cpu = []
            for place in range(2):
                began = time.process_time()
                await converse(f"{pid}s{place}", load.turns)
                cpu.append(1000 * (time.process_time() - began) / (load.turns * load.steps))
            rss = status_mb("VmRSS")
            began = time.perf_counter()
            await asyncio.gather(*(converse(f"{pid}m{place}", 1) for place in range(many)))
            speed = many * load.steps / (time.perf_counter() - began)
    return {"cpu_ms_per_step": statistics.median(cpu), "steps_per_s_200": speed, "rss_mb": rss}


@contextmanager
def server(scenario: dict[str, Any]) -> Iterator[str]:
    """Start the scripted server and yield its address."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        command = [sys.executable, "-m", "wakeful.testing.wire", "serve", "--no-meter", "--port", "0"]
        process = subprocess.Popen([*command, "--scenario", file.name], stdout=subprocess.PIPE, text=True)
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            yield json.loads(line)["url"]
        finally:
            process.terminate()
            process.wait(10)


def child(name: str, url: str, args: argparse.Namespace) -> dict[str, float] | None:
    """Run one loop in a process of its own; None if it could not run."""
    if name in LOOPS:
        command = [sys.executable, __file__, "--child", name, "--url", url]
        command += ["--turns", str(args.turns), "--many", str(args.many)]
        command += ["--peers", str(args.peers)] if args.peers else []
        folder = HERE
    else:
        folder = args.peers
        command = [
            args.peers_python,
            "-B",
            "-W",
            "ignore",
            "overhead_bench.py",
            "--child",
            name,
            "--url",
            url,
        ]
        command += ["--conversations", "2", "--turns", str(args.turns)]
        command += ["--many", str(args.many), "--many-turns", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    line = next((text for text in done.stdout.splitlines() if text.startswith(RESULT)), None)
    if line is None:
        print(
            f"{name}: could not run: {(done.stderr.strip().splitlines() or ['no output'])[-1]}",
            file=sys.stderr,
        )
        return None
    got: dict[str, float] = json.loads(line.removeprefix(RESULT))
    if name in LOOPS:
        return got
    return {
        "cpu_ms_per_step": got["cpu_ms_step"],
        "steps_per_s_200": got["many_steps_s"],
        "rss_mb": got["rss_run_mb"],
    }


def table(rounds: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return medians over the rounds, and the ratios to the bare loop of the same provider."""
    rows = {
        name: {key: statistics.median(got[key] for got in all_) for key in all_[0]}
        for name, all_ in rounds.items()
    }
    for name, row in rows.items():
        base = rows.get(f"bare/{name.rpartition('/')[2]}")
        if base:
            row["ratio"] = row["cpu_ms_per_step"] / base["cpu_ms_per_step"]
            row["ratio_200"] = row["steps_per_s_200"] / base["steps_per_s_200"]
    return {name: {key: round(value, 3) for key, value in row.items()} for name, row in rows.items()}


def show(rows: dict[str, dict[str, float]]) -> None:
    """Print the rows, then the throughput of wakeful's beside the fastest bare loop."""
    print(f"{'':24}{'CPU ms/step':>12}{'ratio':>8}{'200: steps/s':>14}{'ratio':>8}{'MB':>8}")
    for name, row in rows.items():
        figures = f"{row['cpu_ms_per_step']:12.2f}{row.get('ratio', 0):8.2f}{row['steps_per_s_200']:14.1f}"
        print(f"{name:24}{figures}{row.get('ratio_200', 0):8.2f}{row['rss_mb']:8.1f}")
    base = rows.get("bare/anthropic")
    if base is None:
        return
    for name in (name for name in rows if name.startswith("wakeful/")):
        share = rows[name]["steps_per_s_200"] / base["steps_per_s_200"]
        print(f"200 at once: {name} takes {share:.2f} of the steps a second of bare/anthropic")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=TURNS, help="of a conversation that is measured alone")
    parser.add_argument("--many", type=int, default=MANY, help="conversations at once")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--json", action="store_true")
    add_peers(parser, "overhead_bench.py")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    args = parser.parse_args()
    load = evolve(of_peers(args.peers) if args.peers else own(), turns=args.turns)
    if args.child:
        print(RESULT + json.dumps(asyncio.run(measure(args.child, load, args.url, args.many))), flush=True)
        return 0
    rounds: dict[str, list[dict[str, float]]] = {}
    with server(load.scenario) as url:
        for _ in range(args.rounds):
            for name in (*LOOPS, *(PEERS if args.peers else ())):
                got = child(name, url, args) if args.only in name else None
                if got is not None:
                    rounds.setdefault(name, []).append(got)
    rows = table(rounds)
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    show(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
