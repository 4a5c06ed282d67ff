"""Contents as tables and values: Parquet beside large ones, made once; small ones straight from memory."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from wakeful.types import ActionError, Files, InvalidParam, Json, NotFoundError
from wakeful_spillover.documents import Asked, results
from wakeful_spillover.engine import Engine, quoted
from wakeful_spillover.jobs import Job, Runner
from wakeful_spillover.relation import TYPES, Relation
from wakeful_spillover.shape import PARSE_CHARS, dump, is_records
from wakeful_spillover.tables import Stored

#: Seconds that making a table of a large content may take; once for each content.
PREPARE_S = 600.0
#: Rows of a Parquet row group: small enough that fifty columns of two groups fit in the memory bound.
GROUP = 50_000
#: Largest single record, in bytes.
OBJECT = 16 << 20
_ROW = re.compile(r"\$\[(\d{1,9})\](.*)", re.DOTALL)


class Sources:
    """Gives the content of artifacts to queries. One for each plugin instance."""

    def __init__(self, engine: Engine, runner: Runner) -> None:
        self._engine, self._runner = engine, runner
        self._making: dict[str, asyncio.Task[Path]] = {}

    def begin(self, files: Files, ref: str, columns: Sequence[tuple[str, str]]) -> None:
        """Start making the table of a content of records, so that the first question need not wait."""
        self._task(files, ref, columns)

    async def ready(self, files: Files, found: Stored) -> None:
        """Wait until the table of an artifact can be read quickly.

        Raises:
            ActionError: it cannot be made.
        """
        if found.form == "records" and found.ref is not None:
            await asyncio.shield(self._task(files, found.ref, found.columns))

    def relation(self, job: Job, cursor: Any, files: Files, found: Stored) -> Relation:
        """Return an artifact as a table. Blocking.

        Raises:
            ActionError: WRONG_KIND: it is none.
        """
        if found.form == "records" and found.ref is not None:
            path = quoted(str(files.derived(found.ref, "parquet").absolute()))
            names = ", ".join(f"c{place}" for place in range(len(found.columns)))
            sql = (
                f"SELECT {names}, file_row_number + 1 AS rn FROM read_parquet({path}, file_row_number = true)"
            )
            return Relation(sql, (), found.columns)
        if found.form == "records":
            return loaded(cursor, _split(found.content or ""), found.columns)
        if found.kind == "table":
            return loaded(cursor, [dump(row) for row in self.table(job, files, found)], found.columns)
        raise wrong_kind(found, "table")

    def table(self, job: Job, files: Files, found: Stored) -> list[dict[str, Json]]:
        """Return the records of a table inside a JSON document. Blocking."""
        whole = self.value(job, files, found)
        rows: list[dict[str, Json]] = next(value for value in whole.values() if _of(value, found))
        return rows

    def value(self, job: Job, files: Files, found: Stored) -> Any:
        """Return the whole value of an artifact that is not too large. Blocking.

        Raises:
            ActionError: WRONG_KIND or QUERY_TOO_LARGE.
        """
        if found.kind in {"text", "media"}:
            raise wrong_kind(found, "json")
        if found.size > PARSE_CHARS:
            raise ActionError(
                "QUERY_TOO_LARGE",
                f"[{found.handle}] is too large to be read as a whole",
                suggestion="Ask with artifact_rows or artifact_text, or for one row: a path like $[0].",
            )
        text = self.text(files, found).decode()
        job.check()
        return (
            [json.loads(line) for line in text.splitlines()] if found.form == "records" else json.loads(text)
        )

    def looked(self, job: Job, files: Files, found: Stored, asked: Asked) -> tuple[str, list[Any]]:
        """Return what a question about JSON finds; of a large table one row is read alone. Blocking.

        Raises:
            ActionError: see :func:`wakeful_spillover.documents.results`.
        """
        one = _ROW.fullmatch(asked.path.strip())
        if one is None or found.form != "records":
            return results(job, self.value(job, files, found), asked)
        for at, line in enumerate(lines_of(files, found)):
            if at == int(one[1]):
                row = evolve(asked, path=f"${one[2]}", root=f"$[{at}]")
                return results(job, json.loads(line), row)
        what = f"nothing is at {asked.path}: [{found.handle}] has {found.rows or 0:,} rows, from $[0] on"
        raise ActionError("NOTHING_THERE", what, invalid=[InvalidParam("path", what)])

    def text(self, files: Files, found: Stored) -> bytes:
        """Return the content of an artifact that is text of some kind. Blocking.

        Raises:
            ActionError: WRONG_KIND for media; CONTENT_MISSING if the file is gone.
        """
        if found.kind == "media":
            raise wrong_kind(found, "text")
        if found.ref is None:
            return (found.content or "").encode()
        try:
            return files.path(found.ref).read_bytes()
        except (FileNotFoundError, NotFoundError):
            raise ActionError(
                "CONTENT_MISSING", f"the content of [{found.handle}] is no longer there"
            ) from None

    async def close(self) -> None:
        """Give up what is being made."""
        for task in tuple(self._making.values()):
            task.cancel()
        await asyncio.gather(*self._making.values(), return_exceptions=True)

    def _task(self, files: Files, ref: str, columns: Sequence[tuple[str, str]]) -> asyncio.Task[Path]:
        task = self._making.get(ref)
        if task is None:
            work = self._runner.run(lambda job: self._make(job, files, ref, columns), PREPARE_S)
            task = self._making[ref] = asyncio.create_task(work, name="spillover-table")
            task.add_done_callback(lambda done: self._made(ref, done))
        return task

    def _made(self, ref: str, task: asyncio.Task[Path]) -> None:
        self._making.pop(ref, None)
        if not task.cancelled():
            task.exception()  # whoever asks next tries again and is told

    def _make(self, job: Job, files: Files, ref: str, columns: Sequence[tuple[str, str]]) -> Path:
        """Write the Parquet file beside a content of records, whole or not at all."""
        path, content = files.derived(ref, "parquet").absolute(), files.path(ref).absolute()
        if path.is_file():
            return path
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        os.close(handle)
        part = Path(name)
        try:
            with self._engine.cursor(job, files) as cursor:
                select = _reading(content, columns)
                options = f"FORMAT parquet, ROW_GROUP_SIZE {GROUP}, COMPRESSION zstd"
                cursor.execute(f"COPY ({select}) TO {quoted(str(part))} ({options})")
            part.replace(path)
            if not content.is_file():  # its conversation was forgotten meanwhile
                path.unlink(missing_ok=True)
        finally:
            part.unlink(missing_ok=True)
        return path


def loaded(cursor: Any, lines: Sequence[str], columns: Sequence[tuple[str, str]]) -> Relation:
    """Return records, given as lines of JSON, as a temporary table of a connection. Blocking."""
    name = f"loaded_{os.urandom(4).hex()}"
    source = "(SELECT unnest(?::JSON[]) AS json)"
    cursor.execute(f"CREATE TEMP TABLE {name} AS {_pointed(source, columns)}", [list(lines)])
    names = ", ".join(f"c{place}" for place in range(len(columns)))
    return Relation(f"SELECT {names}, rowid + 1 AS rn FROM {name}", (), tuple(columns))


def wrong_kind(found: Stored, wanted: str) -> ActionError:
    """Return the error for an artifact of another kind than a question needs."""
    tools = {"table": "artifact_rows", "json": "artifact_json", "text": "artifact_text"}
    advice = f"Ask with {tools[found.kind]}." if found.kind in tools else "It can be exported by a person."
    return ActionError(
        "WRONG_KIND", f"[{found.handle}] is of kind {found.kind}, not {wanted}", suggestion=advice
    )


def _reading(content: Path, columns: Sequence[tuple[str, str]]) -> str:
    """Return the SELECT that reads lines of JSON, with positions for names."""
    folded = {name.casefold() for name, _ in columns}
    if len(folded) < len(columns) or "" in folded:
        # DuckDB's names of columns ignore case; those of JSON do not.
        path = f"read_ndjson_objects({quoted(str(content))}, maximum_object_size = {OBJECT})"
        return _pointed(path, columns)
    types = ", ".join(f"{quoted(name)}: {quoted(TYPES[kind])}" for name, kind in columns)
    read = f"read_json({quoted(str(content))}, format = 'newline_delimited', columns = {{{types}}}"
    shown = ", ".join(f'"{_doubled(name)}" AS c{place}' for place, (name, _) in enumerate(columns))
    return f"SELECT {shown} FROM {read}, maximum_object_size = {OBJECT})"


def _pointed(source: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return the SELECT that takes columns out of a column ``json`` by JSON pointers."""
    pointers = [quoted("/" + name.replace("~", "~0").replace("/", "~1")) for name, _ in columns]
    shown = []
    for place, (_, kind) in enumerate(columns, 1):
        plain = TYPES[kind] != "JSON"
        taken = f"CAST(texts[{place}] AS {TYPES[kind]})" if plain else f"values[{place}]"
        shown.append(f"{taken} AS c{place - 1}")
    listed = f"[{', '.join(pointers)}]"
    both = f"json_extract_string(json, {listed}) AS texts, json_extract(json, {listed}) AS values"
    return f"SELECT {', '.join(shown)} FROM (SELECT {both} FROM {source})"


def _doubled(name: str) -> str:
    return name.replace('"', '""')


def _of(value: Json, found: Stored) -> bool:
    return is_records(value) and len(value) == found.rows


def _split(text: str) -> list[str]:
    """Return the lines of records; only line feeds end one, other separators are content."""
    return [line for line in text.split("\n") if line]


def lines_of(files: Files, found: Stored) -> Iterator[str]:
    """Yield the lines of a content of records. Blocking."""
    if found.ref is None:
        yield from _split(found.content or "")
        return
    with files.path(found.ref).open(encoding="utf-8", newline="\n") as lines:
        yield from lines
