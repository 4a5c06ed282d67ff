"""Answers to questions: at most 8,000 characters, with the total and where to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wakeful.results.values import output as rendered
from wakeful.results.values import scalar
from wakeful.types import ActionResult, Json
from wakeful_spillover.tables import Stored

#: Longest answer, in characters as it is shown; from the specification.
LONGEST = 8_000
#: What heading, message and envelope may take of it.
AROUND = 700
#: Longest value of a cell, in characters; the whole one is asked for by its path.
CELL = 500
ROOM = LONGEST - AROUND


def cut(value: Json, limit: int = CELL) -> Json:
    """Return a value that is short enough for a cell, saying how long it was."""
    text = scalar(value)
    if len(text) <= limit:
        return value
    return f"{text[:limit]}… ({len(text):,} characters)"


def fitting(rows: Sequence[Mapping[str, Json]], room: int = ROOM) -> list[dict[str, Json]]:
    """Return as many of the first rows as there is room for, one at least; long values are cut."""
    taken: list[dict[str, Json]] = []
    used = 0
    limit = CELL
    names = len("".join(rows[0])) if rows else 0
    if rows and names + len(rows[0]) * 8 > room:
        return [_narrow(rows[0], room)]
    for row in rows:
        short = {name: cut(value, limit) for name, value in row.items()}
        length = sum(
            len(scalar(value)) + scalar(value).count("|") + scalar(value).count("\n") + 3
            for value in short.values()
        )
        if taken and used + length > room:
            break
        taken.append(short)
        used += length + 2
    while taken and len(rendered("rows", taken)) > room:
        if len(taken) > 1:
            taken.pop()
            continue
        limit //= 2
        taken = [{name: cut(value, limit) for name, value in taken[0].items()}]
        if limit <= 1:
            return [_narrow(taken[0], room)]
    return taken


def _narrow(row: Mapping[str, Json], room: int) -> dict[str, Json]:
    """Return the first columns of a row that is too wide to be shown at all."""
    kept: dict[str, Json] = {}
    for name, value in row.items():
        kept[name] = cut(value, 20)
        if len(rendered("rows", [kept])) > room:
            del kept[name]
            break
    return kept


def answer(
    found: Stored,
    outputs: Mapping[str, Any],
    *,
    start: int,
    shown: int,
    total: int,
    noun: str,
    note: str = "",
) -> ActionResult:
    """Return an answer about an artifact, with its trust and source; it is never spilled again.

    Args:
        found: the artifact.
        outputs: what is shown.
        start: number of the first thing shown, from 1.
        shown: how many are.
        total: how many there are.
        noun: what they are, e.g. ``rows``.
        note: more words for the message.
    """
    following = start + shown
    more = bool(shown) and following <= total
    message = f"[{found.handle}] {shown:,} of {total:,} {noun}"
    if more:
        message += f", next {following:,}"
    out: dict[str, Json] = {**outputs, "total": total}
    if more:
        out["next"] = following
    return ActionResult(
        message="; ".join(filter(None, (message, note))),
        outputs=out,
        trust=found.trust,
        source=found.source,
        bounded=True,
    )
