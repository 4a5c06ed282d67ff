"""Measure what spilling and asking costs, and check that every answer is exact.

    python plugins/spillover/bench/measure.py                 # everything: some minutes, 2 GB of disk
    python plugins/spillover/bench/measure.py table --rows 100000
    python plugins/spillover/bench/measure.py spill

Each part runs in a process of its own, so that the peak of its memory is its own. Exit code 1 if an answer is
wrong or a bound is missed; bounds of time are printed with what they are, a loaded machine misses them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import wakeful
from wakeful import Agent, action
from wakeful.testing import ScriptedModel, say
from wakeful.types import ActionEnded

PARTS = ("table", "html", "json", "log", "spill")
#: Bounds of the specification: bytes of memory, milliseconds.
RSS_MB, QUERY_MS, SPILL_MS, ANSWER = 600, 300, 5.0, 8_000
#: Characters of the page, depth of the tree, lines of the log: 20, 5 and 30 million bytes.
PAGE, DEPTH, LINES = 20_000_000, 7, 400_000
MUCH, SLOW = 99_000, 900
REGIONS = ("EMEA", "AMER", "APAC", "LATAM")

Question = tuple[str, Mapping[str, Any], Callable[[Mapping[str, Any]], bool]]


def record(number: int) -> dict[str, Any]:
    """Return one record of fifty columns."""
    made: dict[str, Any] = {
        "id": number,
        "region": REGIONS[number % 4],
        "amount": number * 7 % 100_003,
        "price": number % 997 / 4,
        "open": number % 2 == 0,
        "note": None if number % 5 else f"note {number}",
    }
    for column in range(44):
        made[f"c{column}"] = f"v{(number + column) % 100}" if column % 2 else number * column % 1000
    return made


def page() -> Iterator[str]:
    """Yield a page of twenty million characters."""
    yield "<!doctype html><html><body>"
    size = 0
    number = 0
    while size < PAGE:
        number += 1
        text = f"From {number * 3} EUR for {number % 97} seats"
        part = f'<section id="tier-{number}"><h2>Tier {number}</h2><p>{text}</p></section>'
        size += len(part)
        yield part + ("\n" if number % 50 == 0 else "")
    yield "</body></html>"


def tree(depth: int, number: int = 1) -> dict[str, Any]:
    """Return nested units, each with four below it."""
    made: dict[str, Any] = {
        "id": number,
        "name": f"Unit {number}",
        "about": "A unit of the company, with its people and what it earned. " * 2,
        "revenue": number % 1000 * 1000,
        "contacts": [{"name": f"P{number}", "mail": f"p{number}@example.com"}],
    }
    if depth:
        made["children"] = [tree(depth - 1, number * 4 + place) for place in range(4)]
    return made


def log_line(number: int) -> str:
    """Return a line of a log."""
    level = "ERROR" if number % 1000 == 0 else "INFO"
    moment = f"2026-11-29T10:{number // 60 % 60:02}:{number % 60:02}Z"
    return f"{moment} {level} worker={number % 16} took {number % 977} ms for /api/items/{number}/in/full"


def table_questions(rows: int) -> list[Question]:
    """Return questions about the table with checks that know the answer."""
    sums: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    big = 0
    for number in range(rows):
        amount = number * 7 % 100_003
        region = REGIONS[number % 4]
        sums[region] += amount
        counts[region] += 1
        big += amount > MUCH and region == "EMEA"
    filters = [
        {"column": "amount", "op": "gt", "value": MUCH},
        {"column": "region", "op": "eq", "value": "emea"},
    ]
    grouped = {"group_by": ["region"], "aggregates": [{"op": "sum", "column": "amount"}, {"op": "count"}]}
    last = rows - 1
    return [
        ("artifact_rows", {"filters": filters, "columns": ["id"]}, lambda out: out["total"] == big),
        (
            "artifact_rows",
            grouped,
            lambda out: (
                {r["region"]: (r["sum_amount"], r["count"]) for r in out["rows"]}
                == {name: (sums[name], counts[name]) for name in sums}
            ),
        ),
        (
            "artifact_rows",
            {"filters": [{"column": "id", "op": "eq", "value": str(last)}]},
            lambda out: all(record(last)[name] == value for name, value in out["rows"][0].items()),
        ),
        (
            "artifact_rows",
            {"sort": ["-id"], "columns": ["id", "c43"], "limit": 3},
            lambda out: [row["id"] for row in out["rows"]] == [last, last - 1, last - 2],
        ),
        (
            "run_pipeline",
            {
                "steps": [
                    {"op": "rows", "filters": filters, "columns": ["id", "c1"]},
                    {"op": "rows", "group_by": ["c1"], "aggregates": [{"op": "count"}], "sort": ["-count"]},
                    {"op": "rows", "aggregates": [{"op": "sum", "column": "count"}]},
                ]
            },
            lambda out: out["rows"] == [{"sum_count": big}],
        ),
    ]


def questions(part: str, rows: int) -> list[Question]:
    """Return the questions of a part."""
    if part == "table":
        return table_questions(rows)
    if part == "html":
        return [
            ("artifact_text", {"pattern": "Tier 77777<"}, lambda out: "From 233331 EUR" in out["lines"]),
            ("artifact_text", {"pattern": "(p|pp)+ehlmann$"}, lambda out: out["total"] == 0),
        ]
    if part == "json":
        path = "$.children[3].children[2].children[1].contacts[0].mail"
        place = ((4 + 3) * 4 + 2) * 4 + 1
        return [
            ("artifact_json", {"path": path}, lambda out: out["value"] == f"p{place}@example.com"),
            (
                "artifact_json",
                {"path": "$..contacts[?@.name == 'P5000'].mail"},
                lambda out: out["value"] == "p5000@example.com",
            ),
            (
                "run_pipeline",
                {
                    "steps": [
                        {"op": "json", "path": "$..contacts[*]"},
                        {
                            "op": "rows",
                            "aggregates": [{"op": "count"}, {"op": "distinct_count", "column": "mail"}],
                        },
                    ]
                },
                lambda out: out["rows"][0]["count"] == sum(4**level for level in range(DEPTH + 1)),
            ),
        ]
    errors = sum(number % 1000 == 0 for number in range(rows))
    slow = sum(number % 977 > SLOW for number in range(rows))
    steps = [
        {"op": "text", "pattern": r"took (?P<ms>9[0-9][0-9]) ms"},
        {
            "op": "rows",
            "filters": [{"column": "ms", "op": "gt", "value": SLOW}],
            "aggregates": [{"op": "count"}],
        },
    ]
    return [
        (
            "artifact_text",
            {"pattern": " ERROR ", "context": 2, "limit": 3},
            lambda out: out["total"] == errors,
        ),
        ("artifact_text", {"start": -1}, lambda out: log_line(rows - 1) in out["lines"]),
        ("run_pipeline", {"steps": steps}, lambda out: out["rows"] == [{"count": slow}]),
        (
            "artifact_text",
            {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$", "limit": 1},
            lambda out: out["total"] >= 0,
        ),
    ]


async def ask(part: str, rows: int, folder: Path) -> bool:
    """Let an action give one large output, ask about it, and print what it took."""

    @action(effect="read", output_trust="trusted", timeout_s=3600)
    def give() -> Any:
        """Give it."""
        if part == "table":
            return map(record, range(rows))
        if part == "html":
            return "".join(page())
        if part == "json":
            return tree(DEPTH)
        return "\n".join(map(log_line, range(rows)))

    asked = questions(part, rows)
    calls = [say(calls=[(tool, {"handle": "A", **question})]) for tool, question, _ in asked]
    model = ScriptedModel([say(calls=["give"]), *calls, *calls, "Done."])
    agent = Agent(
        model=model,
        actions=[give],
        plugins=["spillover"],
        store=f"sqlite:///{folder}/bench.db",
        folder=folder,
    )
    began, right, place = time.perf_counter(), True, 0
    async with wakeful.open(agent) as app:
        async for event in app.stream("agent", "Go", conversation="bench"):
            if not isinstance(event, ActionEnded):
                continue
            took = (time.perf_counter() - began) * 1000
            if not place:
                print(f"  given, spooled and spilled in {took / 1000:.1f} s")
                print("  " + str(next(iter(event.result.outputs.values()))).replace("\n", "\n  "))
            else:
                tool, question, check = asked[(place - 1) % len(asked)]
                exact = event.result.success and check(event.result.outputs) and len(event.text) <= ANSWER
                right = right and exact
                again = "again" if place > len(asked) else "first"
                said = "exact" if exact else f"WRONG: {event.text[:400]}"
                what = f"{tool} {json.dumps(question)[:70]} {again}"
                print(f"  {what}: {took:,.0f} ms, {len(event.text):,} characters, {said}")
            place += 1
            began = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory {peak:,.0f} MB (at most {RSS_MB})")
    return right and peak < RSS_MB


async def spill(folder: Path) -> bool:
    """Compare results of 1,000 rows with spilling and without."""
    rows = [
        {"id": n, "name": f"Customer {n}", "owner": f"o{n % 7}@example.com", "sum": n / 4}
        for n in range(1000)
    ]

    @action(effect="read", output_trust="trusted")
    async def give(number: int) -> Any:
        """Give rows, others each time."""
        return [{"run": number, **row} for row in rows]

    taken: dict[bool, list[float]] = {}
    for on in (False, True):
        replies = [say(calls=[("give", {"number": number})]) for number in range(60)]
        agent = Agent(
            model=ScriptedModel([*replies, "Done."]),
            actions=[give],
            plugins=["spillover"] if on else [],
            store=f"sqlite:///{folder}/{on}.db",
            folder=folder,
            limits=wakeful.Limits(steps=100),
        )
        times: list[float] = []
        async with wakeful.open(agent) as app:
            began = time.process_time()
            async for event in app.stream("agent", "Go", conversation="bench"):
                if isinstance(event, ActionEnded):
                    now = time.process_time()
                    times.append((now - began) * 1000)
                    began = now
        taken[on] = times[5:]
    without, spilled = (statistics.median(taken[on]) for on in (False, True))
    print(f"  a step that gives 1,000 rows: {without:.1f} ms of processor without, {spilled:.1f} ms with")
    print(f"  spilling adds {spilled - without:.1f} ms (at most {SPILL_MS})")
    return spilled - without < SPILL_MS


def main() -> int:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], metavar="PART")
    parser.add_argument("--rows", type=int, default=0, help="rows of the table, lines of the log")
    parser.add_argument("--here", action="store_true", help="in this process")
    parser.add_argument("--folder", type=Path, help="where to work; default: a temporary folder")
    chosen = parser.parse_args()
    if chosen.here:
        (part,) = chosen.parts
        with tempfile.TemporaryDirectory(prefix="wakeful-bench-", dir=chosen.folder) as folder:
            rows = chosen.rows or (1_000_000 if part == "table" else LINES)
            work = spill(Path(folder)) if part == "spill" else ask(part, rows, Path(folder))
            return 0 if asyncio.run(work) else 1
    failed = 0
    for part in chosen.parts or PARTS:
        print(f"{part}:", flush=True)
        command = [sys.executable, __file__, part, "--here", "--rows", str(chosen.rows)]
        folder_option = ["--folder", str(chosen.folder)] if chosen.folder else []
        failed |= subprocess.run([*command, *folder_option], check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
