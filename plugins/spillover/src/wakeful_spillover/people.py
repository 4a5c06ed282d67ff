"""What ``wakeful artifacts`` does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from wakeful.cli.exits import Exit
from wakeful.cli.output import note, say, say_json, say_table
from wakeful.results.values import scalar
from wakeful.types import (
    ActionError,
    ActionResult,
    ConfigError,
    Json,
    Problem,
)
from wakeful_spillover.describe import names, size
from wakeful_spillover.desk import Desk, opened
from wakeful_spillover.export import write
from wakeful_spillover.shelf import query
from wakeful_spillover.sources import PREPARE_S
from wakeful_spillover.tables import Stored, load
from wakeful_spillover.wanted import Wanted, aggregate_of, filter_of

_T = TypeVar("_T")

#: Rows or lines of a preview.
PREVIEW = 10


def list_artifacts(file: Path, conversation: str, *, as_json: bool) -> int:
    """Print the artifacts of a conversation, oldest first."""

    async def work(desk: Desk) -> list[Stored]:
        rows = await desk.read(query(conversation))
        if not rows:
            await desk.check(conversation)
        return [load(row) for row in rows]

    found = _with(file, work)
    if as_json:
        say_json({"conversation": conversation, "artifacts": [_document(each) for each in found]})
    elif found:
        headers = ("handle", "kind", "rows", "size", "trust", "made by", "row")
        say_table(headers, [_line(each) for each in found])
    else:
        note(f"conversation {conversation} has no artifacts")
    return Exit.OK


def show_artifact(file: Path, conversation: str, handle: str, *, as_json: bool) -> int:
    """Print what an artifact is and its first rows or lines."""

    async def work(desk: Desk) -> tuple[Stored, ActionResult | None]:
        found = await desk.find(conversation, handle)
        if found.kind == "media":
            return found, None
        wanted = Wanted(path="$" if found.kind == "json" else "", limit=PREVIEW)
        return found, await _asked(desk, found, conversation, wanted)

    found, preview = _with(file, work)
    if as_json:
        shown = preview.outputs if preview else {}
        say_json(
            {**_document(found), "preview": {k: v for k, v in shown.items() if k not in {"total", "next"}}}
        )
        return Exit.OK
    about = (
        f"{found.rows:,} {'rows' if found.kind == 'table' else 'lines'}, " if found.rows is not None else ""
    )
    say(f"[{found.handle}] {found.kind}, {about}{size(found.size)}, {found.trust.label}, from {found.source}")
    say(f"made by {found.name}, output {found.output}, row {found.seq or '-'}")
    if found.columns:
        say(f"columns: {names(found.columns, 2000)}")
    if preview is not None:
        _print(preview)
    return Exit.OK


def query_artifact(file: Path, conversation: str, handle: str, wanted: Wanted, *, as_json: bool) -> int:
    """Print the answer to a question about an artifact."""

    async def work(desk: Desk) -> ActionResult:
        found = await desk.find(conversation, handle)
        return await _asked(desk, found, conversation, wanted)

    result = _with(file, work)
    if not result.success:
        raise ConfigError([Problem("", _refused(result))])
    if as_json:
        say_json(dict(result.outputs))
        return Exit.OK
    _print(result)
    note(result.message, dim=True)
    return Exit.OK


def export_artifact(
    file: Path, conversation: str, handle: str, to: Path, *, force: bool, as_json: bool
) -> int:
    """Write an artifact to a file.

    Raises:
        ConfigError: the file is there, or an artifact of this kind cannot be written like this.
        NotFoundError: there is no such artifact.
    """
    if to.exists() and not force:
        raise ConfigError([Problem(str(to), "is there already; --force overwrites it")])

    async def work(desk: Desk) -> Stored:
        found = await desk.find(conversation, handle)
        if not as_json:
            note(f"writing {to}", dim=True)
        if to.suffix == ".parquet" and found.kind == "table":
            await desk.sources.ready(desk.files, found)
        await desk.runner.run(
            lambda job: write(job, desk.engine, desk.sources, desk.files, found, to), PREPARE_S
        )
        return found

    found = _with(file, work)
    if as_json:
        say_json({"file": str(to), "bytes": to.stat().st_size, "handle": found.handle})
    else:
        say(f"[{found.handle}] written to {to}, {size(to.stat().st_size)}")
    return Exit.OK


def _refused(result: ActionResult) -> str:
    """Return why a question has no answer, and what to do, in one line."""
    taught = result.recovery
    near = " or ".join(repr(value) for value in taught.suggested_values) if taught else ""
    meant = f"; did you mean {near}?" if near else ""
    return f"{result.message}{meant}{' ' if meant else '. '}{taught.suggestion if taught else ''}".strip()


def _with(file: Path, work: Callable[[Desk], Awaitable[_T]]) -> _T:
    async def run() -> _T:
        async with opened(file) as desk:
            try:
                return await work(desk)
            except ActionError as error:
                raise ConfigError([Problem("", error.message)]) from None

    return asyncio.run(run())


async def _asked(desk: Desk, found: Stored, conversation: str, wanted: Wanted) -> ActionResult:
    ctx: Any = SimpleNamespace(run=SimpleNamespace(conversation=conversation))
    start, limit = wanted.start, wanted.limit
    if wanted.path:
        return await desk.questions.artifact_json(ctx, found.handle, wanted.path, start=start, limit=limit)
    if wanted.grep or found.kind == "text":
        return await desk.questions.artifact_text(
            ctx, found.handle, wanted.grep, context=wanted.context, start=start, limit=limit
        )
    return await desk.questions.artifact_rows(
        ctx,
        found.handle,
        list(wanted.columns),
        [filter_of(text) for text in wanted.where],
        "any" if wanted.any else "all",
        list(wanted.group_by),
        [aggregate_of(text) for text in wanted.aggregates],
        list(wanted.sort),
        start,
        limit,
    )


def _print(result: ActionResult) -> None:
    for name, value in result.outputs.items():
        if name in {"total", "next"}:
            continue
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            headers = list(dict.fromkeys(key for row in value for key in row))
            say_table(headers, [[_cell(row.get(key)) for key in headers] for row in value])
        elif isinstance(value, dict):
            say_table(("name", "value"), [(key, _cell(item)) for key, item in value.items()])
        else:
            say(scalar(value))


def _cell(value: Json) -> str:
    return "" if value is None else scalar(value)


def _line(each: Stored) -> tuple[str, ...]:
    rows = "-" if each.rows is None else f"{each.rows:,}"
    return (each.handle, each.kind, rows, size(each.size), each.trust.label, each.name, str(each.seq or "-"))


def _document(each: Stored) -> dict[str, Json]:
    return {
        "handle": each.handle,
        "kind": each.kind,
        "name": each.name,
        "output": each.output,
        "version": each.version,
        "rows": each.rows,
        "bytes": each.size,
        "columns": [{"name": name, "type": kind} for name, kind in each.columns],
        "media": each.media,
        "trust": each.trust.label,
        "source": each.source,
        "seq": each.seq,
    }
