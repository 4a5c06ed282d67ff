"""``wakeful runs list`` and ``wakeful runs show``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from wakeful.cli.exits import Exit
from wakeful.cli.output import note, plain, say_json, say_table, short
from wakeful.cli.records import read
from wakeful.cli.view import usage_document
from wakeful.store.records import RunDetail, RunRecord, get_run, run_ids
from wakeful.store.records import list_runs as stored_runs
from wakeful.types import ConfigError, Json, NotFoundError, Problem, RunStatus, nearest

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Characters of an answer in the list.
WIDTH = 60
HEADERS = ("run", "agent", "started", "status", "steps", "tokens", "answer")
#: Runs that are looked at to find the one that somebody may have meant.
NEAR = 500


@frozen
class Wanted:
    """Which runs to list."""

    agent: str | None
    conversation: str | None
    status: str | None
    limit: int


def list_runs(file: Path, wanted: Wanted, *, as_json: bool) -> int:
    """Print the newest runs.

    Raises:
        ConfigError: the file is wrong, or there is no such status.
        StoreError: the database cannot be used.
    """
    known = [status.value for status in RunStatus]
    if wanted.status is not None and wanted.status not in known:
        what = f"there is no status {wanted.status!r}{nearest(wanted.status, known)}"
        raise ConfigError([Problem("--status", what)])

    def query(conn: Connection) -> tuple[RunRecord, ...]:
        return stored_runs(
            conn,
            agent=wanted.agent,
            conversation=wanted.conversation,
            status=wanted.status,
            limit=wanted.limit,
        )

    runs = read(file, query) or ()
    if as_json:
        say_json({"runs": [_document(run) for run in runs]})
    elif runs:
        say_table(HEADERS, [_row(run) for run in runs])
    else:
        note("there are no runs yet" if wanted == Wanted(None, None, None, wanted.limit) else "no such runs")
    return Exit.OK


def show_run(file: Path, run_id: str, *, as_json: bool) -> int:
    """Explain a run, step by step.

    Raises:
        ConfigError: the file is wrong.
        NotFoundError: there is no such run; names the nearest.
        StoreError: the database cannot be used.
    """
    from wakeful.cli.explain import explain

    def query(conn: Connection) -> tuple[RunDetail | None, tuple[str, ...]]:
        found = get_run(conn, run_id)
        return found, () if found else run_ids(conn, NEAR)

    detail, known = read(file, query) or (None, ())
    if detail is None:
        hint = nearest(run_id, known, limit=3) if known else "; there are no runs yet"
        raise NotFoundError(f"there is no run {run_id!r}{hint}")
    if as_json:
        say_json({**plain(detail), "run": _document(detail.run)})
    else:
        explain(detail)
    return Exit.OK


def _document(run: RunRecord) -> dict[str, Json]:
    return {**plain(run), "usage": usage_document(run.usage)}


def _row(run: RunRecord) -> tuple[str, ...]:
    said = run.error if run.status in {RunStatus.FAILED, RunStatus.LIMIT_REACHED} else run.text
    return (
        run.id,
        run.agent,
        when(run.started_at),
        run.status.value,
        str(run.steps),
        f"{run.usage.total:,}",
        short(said, WIDTH),
    )


def when(moment: datetime | None) -> str:
    """Return a moment in local time, to the second."""
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
