"""The bridge to ``wakeful-migrations``: making, upgrading and checking the tables of a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Engine, inspect

from wakeful.store.errors import translate
from wakeful.store.urls import Target
from wakeful.types.errors import StoreError
from wakeful.types.protocols import Lineage

if TYPE_CHECKING:
    from wakeful_migrations import Applied, State

T = TypeVar("T")


def prepare(
    reader: Engine, writer: Engine, target: Target, brought: Sequence[Lineage], *, create: bool
) -> None:
    """Make the tables of an empty database; refuse one whose tables are not those the code needs.

    Args:
        reader: to look with, so that a database can be opened while another process writes.
        writer: to make tables with.
        target: the database, for messages.
        brought: the lineages of the enabled plugins.
        create: whether an empty database may be filled.

    Raises:
        StoreError: see :meth:`wakeful.store.engine.Store.open`.
    """
    found = states(reader, target, brought)
    if found[0].status == "missing":
        tables = inspect(reader).get_table_names()
        if not tables:
            if not create or target.mode == "ro":
                raise StoreError(f"{target.label}: has no tables yet; run `wakeful db upgrade` to make them")
            upgrade(writer, target, brought, together=True)
            return
        if "alembic_kernel" not in tables:
            listed = ", ".join(sorted(tables)[:3])
            raise StoreError(
                f"{target.label}: holds tables that are not wakeful's ({listed}, …); name another database"
                " for the store, or run `wakeful db upgrade` to add wakeful's tables to this one"
            )
        # Another process has made them between the two looks.
        found = states(reader, target, brought)
    for state in found:
        if state.status == "newer":
            raise StoreError(f"{target.label}: {_newer(state)}")
    behind = "; ".join(_behind(state) for state in found if state.status != "current")
    if behind:
        raise StoreError(f"{target.label}: is older than the code ({behind}); run `wakeful db upgrade`")


def states(engine: Engine, target: Target, brought: Sequence[Lineage]) -> tuple[State, ...]:
    """Return where each lineage stands.

    Raises:
        StoreError: the database or a lineage cannot be read.
    """
    from wakeful_migrations import current

    return _clearly(target, lambda: current(engine, brought))


def upgrade(
    engine: Engine,
    target: Target,
    brought: Sequence[Lineage],
    *,
    together: bool = False,
    progress: Callable[[str, str], None] | None = None,
) -> tuple[Applied, ...]:
    """Bring every lineage to its newest revision; see :func:`wakeful_migrations.upgrade`.

    Raises:
        StoreError: the database cannot be used, or a migration failed and was rolled back whole.
    """
    from wakeful_migrations import upgrade as apply

    return _clearly(target, lambda: apply(engine, brought, together=together, progress=progress))


def check(engine: Engine, target: Target, brought: Sequence[Lineage]) -> tuple[str, ...]:
    """Return how the schema differs from what the code needs, one line each.

    Raises:
        StoreError: the database or a lineage cannot be read.
    """
    import wakeful.store.contents  # noqa: F401  (its tables belong to the metadata, and those of work)
    from wakeful.store.tables import kernel_metadata
    from wakeful_migrations import check as compare

    return _clearly(target, lambda: compare(engine, brought, metadata={"kernel": kernel_metadata}))


def _clearly(target: Target, fn: Callable[[], T]) -> T:
    from wakeful_migrations import MigrationError

    try:
        return fn()
    except MigrationError as error:
        # Full disks and locks may strike in the middle of a migration: then they are the news.
        clear = translate(error.__cause__ or error, target)
        raise clear or StoreError(f"{target.label}: {error}") from error


def _newer(state: State) -> str:
    from wakeful_migrations.runner import newer

    return newer(state)


def _behind(state: State) -> str:
    have = f"at {state.current}" if state.current else "missing"
    return f"tables of {state.owner!r} {have}, needed {state.head}"
