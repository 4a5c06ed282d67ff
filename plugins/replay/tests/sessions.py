"""A turn of two steps, recorded."""

from __future__ import annotations

from typing import Any

from wakeful.types import Call, Opaque, Reply, Request, Result, Stop, Text, Usage

FIRST = Reply(
    (Text("assistant", "Let me look."), Call("toolu_1", "run_query", '{"sql":"select 1"}')),
    Usage(5, 6, 7, 8, 0.25),
    Stop.CALLS,
)
LAST = Reply((Opaque("elsewhere", {"z": 1, "a": "sig"}), Text("assistant", "12.")), Usage(reported=False))


async def record(bench: Any, ask: Any, upstream: Any) -> tuple[Request, Request]:
    """Record a turn of two steps; return its two requests."""
    model = bench.bind("s.jsonl", upstream(FIRST, LAST))
    first = ask("Who owes us?")
    second = ask("Who owes us?", *FIRST.items, Result("toolu_1", "Ada: 12"))
    for request in (first, second):
        await model.complete(request, "c-1")
    return first, second
