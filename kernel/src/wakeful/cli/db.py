"""``wakeful db upgrade|current|check``: works on databases that ``wakeful run`` would refuse."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wakeful.app.sources import read_file
from wakeful.cli.database import ABSENT, Brought, absent, brought, reading, status, writing
from wakeful.cli.exits import Exit
from wakeful.cli.output import note, say, say_json, say_table
from wakeful.store.lineages import check, upgrade
from wakeful.store.urls import Target, parse
from wakeful.store.verify import verify
from wakeful.types import Json, Problem, StoreError

if TYPE_CHECKING:
    from wakeful_migrations import State

#: Problems that are printed; a damaged database may have any number.
MOST = 100


def upgrade_database(file: Path, *, as_json: bool) -> int:
    """Make a missing database, or bring one to what this installation needs.

    Raises:
        ConfigError: the file is wrong.
        StoreError: the database cannot be used, or a migration failed and was rolled back whole.
    """
    config = read_file(file)
    target, known = parse(config.store.url), brought(config)
    if target.memory:
        raise StoreError(f"{target.label}: lasts as long as a program; there is nothing to upgrade")
    new = absent(target)

    def progress(owner: str, revision: str) -> None:
        note(f"{owner}: upgrading to {revision}", dim=True)

    with writing(target) as engine:
        applied = upgrade(
            engine, target, known.lineages, together=new, progress=None if as_json else progress
        )
    if as_json:
        done = [{"owner": a.owner, "before": a.before, "revisions": list(a.revisions)} for a in applied]
        say_json({"database": target.label, "created": new, "applied": done, "problems": _lines(known)})
        return Exit.OK
    _warn(known)
    for one in applied:
        say(f"{one.owner}: {one.before or 'nothing'} -> {one.revisions[-1]}")
    made = "made" if new else "upgraded" if applied else "is current"
    say(f"{target.label}: {made}")
    return Exit.OK


def current_database(file: Path, *, as_json: bool) -> int:
    """Print the revision of each owner's tables; changes nothing.

    Raises:
        ConfigError: the file is wrong.
        StoreError: the database cannot be read.
    """
    config = read_file(file)
    known = brought(config)
    found = status(config.store.url, known.lineages)
    if found.error:
        raise StoreError(found.error)
    if as_json:
        say_json(
            {
                "database": found.label,
                "status": found.status,
                "lineages": states_document(found.states),
                "problems": _lines(known),
            }
        )
        return Exit.OK
    _warn(known)
    if found.status == ABSENT:
        say(f"{found.label}: does not exist yet; the first run makes it, or `wakeful db upgrade`")
        return Exit.OK
    say_table(
        ("tables of", "at", "needed", "status"),
        [(state.owner, state.current or "-", state.head, state.status) for state in found.states],
    )
    if found.status in {"older", "missing"}:
        note("run `wakeful db upgrade`")
    return Exit.OK


def check_database(file: Path, *, as_json: bool) -> int:
    """Compare the schema with the code and look for gaps and lost results; 3 if there is anything.

    Raises:
        ConfigError: the file is wrong.
        StoreError: the database cannot be read.
    """
    config = read_file(file)
    target, known = parse(config.store.url), brought(config)
    if target.memory:
        raise StoreError(f"{target.label}: lasts as long as a program; there is nothing to check")
    found = [*known.problems, *_problems(target, known)]
    if as_json:
        problems = [{"where": problem.where, "what": problem.what} for problem in found]
        say_json({"database": target.label, "ok": not found, "problems": problems})
        return Exit.STORE if found else Exit.OK
    for problem in found:
        note(f"error: {problem}", red=True)
    if len(found) >= MOST:
        note("there may be more")
    count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
    say(f"{target.label}: {count if found else 'ok'}")
    return Exit.STORE if found else Exit.OK


def states_document(states: Sequence[State]) -> list[Json]:
    """Return where each owner's tables stand, as JSON."""
    return [
        {
            "owner": state.owner,
            "current": state.current,
            "head": state.head,
            "status": state.status,
            "pending": list(state.pending),
        }
        for state in states
    ]


def _problems(target: Target, known: Brought) -> list[Problem]:
    found: list[Problem] = []
    with reading(target) as engine:
        if target.sqlite:
            with engine.connect() as conn:
                lines = conn.exec_driver_sql(f"PRAGMA quick_check({MOST})").scalars().all()
            found += [Problem(target.label, f"damaged: {line}") for line in lines if line != "ok"]
            if found:
                return found
        schema = check(engine, target, known.lineages)
        found += [Problem(target.label, line) for line in schema]
        if schema:
            # The rows cannot be read by code that expects other tables.
            return found
        with engine.connect() as conn:
            for problem in verify(conn):
                found.append(problem)
                if len(found) >= MOST:
                    break
    return found


def _lines(known: Brought) -> list[str]:
    return [str(problem) for problem in known.problems]


def _warn(known: Brought) -> None:
    for line in _lines(known):
        note(f"warning: {line}; its tables are not looked at", red=True)
