"""How the work of a database stands, as ``wakeful doctor`` tells it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from wakeful.cli.output import plain, say, say_red
from wakeful.cli.records import read
from wakeful.runtime.owners import is_dead
from wakeful.store.health import Health, WorkRecord, health
from wakeful.system import SystemClock
from wakeful.types import Json

_MEGA = 1_000_000


def look(file: Path) -> Health | None:
    """Return how the work stands; None while there is no database that lasts.

    Raises:
        StoreError: the database cannot be read.
    """
    now = SystemClock().now()
    return read(file, lambda conn: health(conn, now, is_dead))


def document(found: Health | None) -> Json:
    """Return it as JSON."""
    return None if found is None else plain(found)


def tell(found: Health) -> None:
    """Print it."""
    say(f"  size      {found.size / _MEGA:.1f} MB")
    say(f"  work      {found.waiting} waiting, {found.running} running, {found.dead} given up")
    for record in found.dead_letters:
        say_red(f"  given up: {_named(record)} after {record.attempts} attempts: {record.error}")
        if record.run:
            say_red(f"    `wakeful runs resume {record.run}` tries again, `wakeful runs cancel` ends it")
    for record in found.stale:
        why = "has ended" if record.gone else f"is silent since {_when(record.lease_until)}"
        say_red(f"  stale: {_named(record)}, its process {why}")
    if found.stale:
        say_red("    whoever serves this database takes them over, e.g. the next `wakeful run`")
    for run in found.adrift:
        say_red(f"  adrift: run {run} is marked as running and nobody will end it")
        say_red(f"    `wakeful runs resume {run}` goes on with it, `wakeful runs cancel` ends it")


def _named(record: WorkRecord) -> str:
    return f"{record.kind} of {record.run or record.key} (item {record.id})"


def _when(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
