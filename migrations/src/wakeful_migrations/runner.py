"""Applying lineages, and saying where each stands.

Each lineage is upgraded in one transaction, which holds the database's migration lock: of two
processes that migrate at once, the second waits and then finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, text

from wakeful_migrations.lineage import Lineage, MigrationError, folders, ordered, version_table

#: Key of the PostgreSQL advisory lock: the letters "wakeful" in hexadecimal.
_ADVISORY_KEY = 0x77616B6566756C
#: Seconds that a migration waits for another one; a large table's migration may take long.
DEFAULT_WAIT = 300.0


@dataclass(frozen=True)
class State:
    """Where a lineage stands.

    Args:
        owner: who brings it.
        current: its revision in the database, or None.
        head: the newest revision this installation knows.
        status: ``current``, ``missing`` (never applied), ``older`` or ``newer`` (not known here).
        pending: the revisions an upgrade would apply, oldest first.
    """

    owner: str
    current: str | None
    head: str
    status: str
    pending: tuple[str, ...] = ()


@dataclass(frozen=True)
class Applied:
    """What an upgrade did to one lineage: from which revision (None: from nothing) over which steps."""

    owner: str
    before: str | None
    revisions: tuple[str, ...]


def current(engine: Engine, lineages: Iterable[Lineage] = ()) -> tuple[State, ...]:
    """Return where the kernel and ``lineages`` stand in the database, in order of application.

    Raises:
        MigrationError: a lineage cannot be read.
        sqlalchemy.exc.DBAPIError: the database cannot be read.
    """
    scripts = [(lineage, _scripts(lineage)) for lineage in ordered(lineages)]
    with engine.connect() as connection:
        return tuple(_state(connection, lineage, script) for lineage, script in scripts)


def upgrade(
    engine: Engine,
    lineages: Iterable[Lineage] = (),
    *,
    wait: float = DEFAULT_WAIT,
    together: bool = False,
    progress: Callable[[str, str], None] | None = None,
) -> tuple[Applied, ...]:
    """Bring the kernel's tables and those of ``lineages`` to their newest revision.

    Args:
        engine: of the database; on SQLite its busy timeout is what a waiting migrator waits.
        lineages: what plugins bring, in any order.
        wait: seconds to wait for another migrator on PostgreSQL.
        together: one transaction for all lineages, so that a new database is made whole or not at all.
        progress: called with owner and revision before each lineage is touched.

    Returns:
        One entry for each lineage that was changed, in order of application.

    Raises:
        MigrationError: a lineage cannot be used, is newer than this installation, or a migration failed
            (then all of that lineage is as it was; unless ``together``, those before it stay upgraded).
        sqlalchemy.exc.DBAPIError: the database cannot be opened or locked.
    """
    scripts = [(lineage, _scripts(lineage)) for lineage in ordered(lineages)]
    if together:
        with _locked(engine, wait) as connection:
            return tuple(_steps(connection, scripts, progress))
    done: list[Applied] = []
    for script in scripts:
        with _locked(engine, wait) as connection:
            done += _steps(connection, [script], progress)
    return tuple(done)


def _steps(
    connection: Connection,
    scripts: Iterable[tuple[Lineage, ScriptDirectory]],
    progress: Callable[[str, str], None] | None,
) -> Iterator[Applied]:
    for lineage, script in scripts:
        # Read again under the lock: another process may have been faster.
        state = _state(connection, lineage, script)
        if state.status == "newer":
            raise MigrationError(newer(state))
        if state.status == "current":
            continue
        if progress is not None:
            progress(lineage.owner, state.head)
        _apply(connection, lineage, state)
        yield Applied(lineage.owner, state.current, state.pending)


def newer(state: State) -> str:
    """Return the sentence about a revision that this installation does not know."""
    package = "wakeful" if state.owner == "kernel" else f"the plugin {state.owner!r}"
    return (
        f"the tables of {state.owner!r} are at revision {state.current}, which this installation does not"
        f" know (its newest is {state.head}); upgrade {package}"
    )


def config_for(connection: Connection, lineage: Lineage) -> Config:
    """Return the Alembic configuration of a lineage over an open connection."""
    config = Config()
    config.set_main_option("script_location", _escaped(Path(__file__).parent / "env"))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", "\n".join(map(_escaped, folders(lineage))))
    config.attributes.update(connection=connection, version_table=version_table(lineage.owner))
    return config


def _escaped(path: Path) -> str:
    # A configuration file would interpolate per cent signs.
    return str(path).replace("%", "%%")


def _scripts(lineage: Lineage) -> ScriptDirectory:
    try:
        script = ScriptDirectory(
            str(Path(__file__).parent / "env"), version_locations=[str(path) for path in folders(lineage)]
        )
        heads = script.get_heads()
    except MigrationError:
        raise
    except Exception as error:  # a revision file is imported: anything may be raised
        raise MigrationError(f"{lineage.owner}: its revisions cannot be read: {_line(error)}") from error
    if len(heads) != 1:
        found = ", ".join(heads) or "none"
        raise MigrationError(f"{lineage.owner}: a lineage must have one newest revision, found {found}")
    return script


def _state(connection: Connection, lineage: Lineage, script: ScriptDirectory) -> State:
    context = MigrationContext.configure(connection, opts={"version_table": version_table(lineage.owner)})
    now, head = context.get_current_revision(), script.get_heads()[0]
    if now == head:
        return State(lineage.owner, now, head, "current")
    try:
        steps = [step.revision for step in script.iterate_revisions(head, now or "base")]
    except (CommandError, RevisionError):
        return State(lineage.owner, now, head, "newer")
    status = "missing" if now is None else "older"
    return State(lineage.owner, now, head, status, tuple(reversed(steps)))


def _apply(connection: Connection, lineage: Lineage, state: State) -> None:
    try:
        command.upgrade(config_for(connection, lineage), "heads")
        if connection.dialect.name == "sqlite":
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            if broken:
                raise MigrationError(
                    f"{len(broken)} rows of table {broken[0][0]!r} refer to rows that are gone"
                )
    except Exception as error:
        raise MigrationError(
            f"{lineage.owner}: the migration to {state.head} failed and was rolled back whole: {_line(error)}"
        ) from error


@contextmanager
def _locked(engine: Engine, wait: float) -> Iterator[Connection]:
    """Open the one transaction that may change the schema."""
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            with _foreign_keys_off(connection), connection.begin():
                # The kernel's engine has said BEGIN IMMEDIATE itself; a plain one has not.
                if not connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]  # connected above
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
        else:
            with connection.begin():
                connection.execute(text(f"SET LOCAL lock_timeout = {int(wait * 1000)}"))
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
                yield connection


@contextmanager
def _foreign_keys_off(connection: Connection) -> Iterator[None]:
    # A batch migration rebuilds tables: with foreign keys on, dropping the old one would delete what
    # refers to it. The pragma does nothing inside a transaction, so it stands around it.
    driver: Any = connection.connection.dbapi_connection
    cursor = driver.cursor()
    try:
        cursor.execute("PRAGMA foreign_keys")
        before = cursor.fetchone()
        cursor.execute("PRAGMA foreign_keys = OFF")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA foreign_keys = {int(before[0]) if before else 0}")
    finally:
        cursor.close()


def _line(error: BaseException) -> str:
    original = getattr(error, "orig", None) or error
    lines = str(original).strip().splitlines()
    return f"{type(original).__name__}: {lines[0]}" if lines else type(original).__name__
