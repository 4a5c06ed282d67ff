"""Looking after a database: what ``wakeful db upgrade``, ``current`` and ``check`` do. Blocking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from wakeful.store import lineages
from wakeful.store.connect import check_path, reader_engine, writer_engine
from wakeful.store.errors import translate
from wakeful.store.urls import Target, parse
from wakeful.store.verify import verify
from wakeful.types.errors import Problem, StoreError
from wakeful.types.protocols import Lineage

if TYPE_CHECKING:
    from wakeful_migrations import Applied, State

#: How many findings of SQLite's own check are reported.
_FILE_LINES = 10
#: How many problems a check reports before it stops; a broken database can have one per row.
PROBLEM_LIMIT = 1000


def upgrade(
    url: str, brought: Sequence[Lineage] = (), *, progress: Callable[[str, str], None] | None = None
) -> tuple[Applied, ...]:
    """Make a missing SQLite database and bring every lineage to its newest revision.

    Args:
        url: see :func:`wakeful.store.urls.parse`.
        brought: tables that plugins bring.
        progress: called with owner and revision before each lineage that is changed.

    Returns:
        One entry for each lineage that was changed: owner, revision before (or None), revisions applied.

    Raises:
        StoreError: the database cannot be used, or a migration failed and was rolled back whole.
    """
    with _engine(url, writes=True) as (engine, target):
        return lineages.upgrade(engine, target, brought, progress=progress)


def current(url: str, brought: Sequence[Lineage] = ()) -> tuple[State, ...]:
    """Return where each lineage stands: owner, current revision (or None), head, status, pending.

    Raises:
        StoreError: the database is missing or cannot be read.
    """
    with _engine(url, writes=False) as (engine, target):
        return lineages.states(engine, target, brought)


def check(url: str, brought: Sequence[Lineage] = ()) -> tuple[Problem, ...]:
    """Return what is wrong: the file, the schema, sequences with gaps, calls without their result.

    What cannot be checked because of an earlier problem is left out: no rows without their tables.
    Stops after :data:`PROBLEM_LIMIT` problems.

    Raises:
        StoreError: the database is missing or cannot be read at all.
    """
    with _engine(url, writes=False) as (engine, target):
        found = [Problem(target.label, line) for line in _file(engine)]
        if found:
            return tuple(found)
        found = [Problem(target.label, line) for line in lineages.check(engine, target, brought)]
        states = lineages.states(engine, target, ())
        if states[0].status == "current":
            with engine.connect() as connection:
                for problem in verify(connection):
                    found.append(problem)
                    if len(found) >= PROBLEM_LIMIT:
                        found.append(Problem(target.label, f"stopped after {PROBLEM_LIMIT} problems"))
                        break
        return tuple(found)


def _file(engine: Engine) -> list[str]:
    if engine.dialect.name != "sqlite":
        return []
    with engine.connect() as connection:
        said = connection.exec_driver_sql(f"PRAGMA integrity_check({_FILE_LINES})").scalars().all()
    return [f"is damaged: {line}" for line in said if line != "ok"]


@contextmanager
def _engine(url: str, *, writes: bool) -> Iterator[tuple[Engine, Target]]:
    target = parse(url)
    check_path(target, create=writes)
    engine = writer_engine(target, 1) if writes else reader_engine(target, 1)
    try:
        yield engine, target
    except StoreError:
        raise
    except Exception as error:
        clear = translate(error, target)
        if clear is None:
            raise
        raise clear from error
    finally:
        engine.dispose()
