"""Measure what composing and fingerprinting a request costs, by the length of the conversation.

    python plugins/cache/bench/layout.py [--json] [--steps 50]

Each step adds a reply with three calls, their results and changed state, as a run does, with sixty tools and
twelve fragments of state. Printed are milliseconds of CPU time per request: of a step that follows another in
the same process (median), and of the first request after a restart, which hashes the whole conversation once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

from attrs import evolve

from wakeful.types import (
    Call,
    Declared,
    Draft,
    Epoch,
    Fragment,
    Profile,
    Result,
    Row,
    RowKind,
    Section,
    Text,
    Tool,
)
from wakeful_cache import CacheLayout

LENGTHS = (50, 200, 1_000, 5_000)
#: What the composed messages hold, in characters.
TEXT, RESULT = 400, 1_200
#: Messages that one step adds.
ADDED = 4


def draft(messages: int) -> Draft:
    """Return a draft with that many messages."""
    schema = {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(10)}}
    tools = tuple(Tool(f"tool_{n:02}", "What it does. " * 30, schema) for n in range(60))
    sections = (Section("instructions", 0, "Be kind. " * 300),)
    declared = Declared("any:model", tools, sections, {"layout": {"retention": "append"}})
    profile = Profile("any", "breakpoint", minimum=1024)
    start = Draft(Epoch(1, "first turn", declared), profile, "conv", (_user(1),), state(0))
    return grown(start, messages)


def grown(given: Draft, messages: int) -> Draft:
    """Return the draft with rows up to that many messages."""
    rows = list(given.rows)
    while len(rows) < messages:
        rows += added(rows[-1].seq + 1)
    return evolve(given, rows=tuple(rows))


def added(seq: int) -> list[Row]:
    """Return what a step adds."""
    calls = tuple(Call(f"c{seq}_{n}", f"tool_{n:02}", json.dumps({"field_1": "x" * 60})) for n in range(3))
    reply = Row(seq, RowKind.ASSISTANT, (Text("assistant", "y" * TEXT), *calls))
    results = [
        Row(seq + 1 + n, RowKind.RESULT, (Result(call.id, "z" * RESULT),)) for n, call in enumerate(calls)
    ]
    return [reply, *results]


def state(step: int) -> tuple[Fragment, ...]:
    """Return twelve fragments, two of which change with every step."""
    changing = (Fragment("time", 0, f"step {step}"), Fragment("counter", 1, str(step)))
    return (*changing, *(Fragment(f"note {n}", 2 + n, "something found " * 5) for n in range(10)))


def _user(seq: int) -> Row:
    return Row(seq, RowKind.USER, (Text("user", "What is open? " * 10),))


def measured(length: int, steps: int) -> dict[str, Any]:
    """Return the figures for conversations of one length."""
    layout, now = CacheLayout(), draft(length)
    began = time.process_time()
    request = layout.compose(now)
    first = time.process_time() - began
    spent = []
    for step in range(1, steps + 1):
        seq = now.rows[-1].seq + 1
        kept = now.kept if request.keep is None else (*now.kept, request.keep)
        # The state that was sent is a row of its own in front of the reply, which a window leaves out.
        rows = (*now.rows, *added(seq + 1))
        now = evolve(now, rows=rows, kept=kept, previous=request.sent, state=state(step))
        began = time.process_time()
        request = layout.compose(now)
        spent.append(time.process_time() - began)
        if request.change is not None:
            raise SystemExit(f"the bench breaks its own prefix: {request.change}")
    return {
        "messages": length,
        "step_ms": round(1000 * statistics.median(spent), 3),
        "worst_ms": round(1000 * max(spent), 3),
        "restart_ms": round(1000 * first, 3),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a request's layout and fingerprint cost.")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--steps", type=int, default=50, help="steps that are measured")
    args = parser.parse_args()
    measured(LENGTHS[0], 5)  # what is imported and compiled on first use
    rows = [measured(length, args.steps) for length in LENGTHS]
    if args.json:
        print(json.dumps({"rows": rows}, indent=1))
        return
    print(f"{'messages':>9} {'ms per step':>12} {'worst':>8} {'after a restart':>16}")
    for row in rows:
        times = f"{row['step_ms']:>12.3f} {row['worst_ms']:>8.3f} {row['restart_ms']:>16.3f}"
        print(f"{row['messages']:>9,} {times}")


if __name__ == "__main__":
    main()
