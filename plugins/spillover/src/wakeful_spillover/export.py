"""Writing artifacts to files: CSV, JSON, lines of JSON, Parquet, text, media as they are."""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from wakeful.types import ConfigError, Files, Json, Problem
from wakeful_spillover.engine import Engine, quoted
from wakeful_spillover.jobs import Job
from wakeful_spillover.sources import Sources, lines_of
from wakeful_spillover.tables import Stored

#: Endings that a kind can be written as; text and media take any.
ENDINGS = {"table": (".csv", ".json", ".jsonl", ".parquet"), "json": (".json",)}


def write(job: Job, engine: Engine, sources: Sources, files: Files, found: Stored, to: Path) -> None:
    """Write an artifact to ``to``, whole or not at all. Blocking.

    Raises:
        ConfigError: its kind cannot be written like this, or the file cannot be written.
        ActionError: its content cannot be read.
    """
    ending = to.suffix.lower()
    allowed = ENDINGS.get(found.kind, (ending,))
    if ending not in allowed:
        what = f"[{found.handle}] is of kind {found.kind}, which is written as {', '.join(allowed)}"
        raise ConfigError([Problem(str(to), what)])
    try:
        handle, name = tempfile.mkstemp(dir=to.absolute().parent, prefix=".part-")
        os.close(handle)
        part = Path(name)
        try:
            if ending == ".parquet":
                _parquet(job, engine, sources, files, found, part)
            elif found.kind == "table":
                _records(job, sources, files, found, part, ending)
            else:
                _plain(files, found, part)
            part.replace(to)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError([Problem(str(to), f"cannot be written ({error.strerror})")]) from error


def _plain(files: Files, found: Stored, part: Path) -> None:
    if found.ref is None:
        part.write_bytes((found.content or "").encode())
    else:
        shutil.copyfile(files.path(found.ref), part)


def _rows(job: Job, sources: Sources, files: Files, found: Stored) -> Iterator[dict[str, Json]]:
    if found.form == "records":
        for line in lines_of(files, found):
            job.check()
            yield json.loads(line)
        return
    yield from sources.table(job, files, found)


def _records(job: Job, sources: Sources, files: Files, found: Stored, part: Path, ending: str) -> None:
    rows = _rows(job, sources, files, found)
    with part.open("w", encoding="utf-8", newline="") as out:
        if ending == ".csv":
            names = [name for name, _ in found.columns]
            table = csv.writer(out)
            table.writerow(names)
            table.writerows([_cell(row.get(name)) for name in names] for row in rows)
            return
        array = ending == ".json"
        out.write("[\n" if array else "")
        for place, row in enumerate(rows):
            out.write(",\n" if array and place else "")
            out.write(json.dumps(row, ensure_ascii=False))
            out.write("" if array else "\n")
        out.write("\n]\n" if array else "")


def _cell(value: Json) -> Json:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _parquet(job: Job, engine: Engine, sources: Sources, files: Files, found: Stored, part: Path) -> None:
    """Write Parquet where the engine may, then take it along."""
    inside = files.derived(found.ref or "0" * 64, f"x{os.urandom(4).hex()}").absolute()
    inside.parent.mkdir(parents=True, exist_ok=True)
    seen: dict[str, int] = {}
    shown = []
    for place, (name, _) in enumerate(found.columns):
        number = seen[name.casefold()] = seen.get(name.casefold(), 0) + 1
        title = (name or "column") + (f"_{number}" if number > 1 else "")
        shown.append(f'c{place} AS "{title.replace(chr(34), chr(34) * 2)}"')
    try:
        with engine.cursor(job, files) as cursor:
            source = sources.relation(job, cursor, files, found)
            select = f"SELECT {', '.join(shown)} FROM ({source.sql}) ORDER BY rn"
            cursor.execute(f"COPY ({select}) TO {quoted(str(inside))} (FORMAT parquet)")
        shutil.move(inside, part)
    finally:
        inside.unlink(missing_ok=True)
