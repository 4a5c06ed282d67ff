"""Comparing the tables that code declares with those that migrations made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Engine, MetaData

from wakeful_migrations.lineage import Lineage, version_table
from wakeful_migrations.runner import State, current, newer


def check(
    engine: Engine, lineages: Iterable[Lineage] = (), *, metadata: Mapping[str, MetaData] | None = None
) -> tuple[str, ...]:
    """Return what is wrong with the schema, one line each; an empty tuple is a healthy one.

    Args:
        engine: of the database.
        lineages: what plugins bring.
        metadata: owner to the tables its code declares; each is compared with the migrated schema.

    Raises:
        MigrationError: a lineage cannot be read.
        sqlalchemy.exc.DBAPIError: the database cannot be read.
    """
    problems = []
    states = current(engine, lineages)
    with engine.connect() as connection:
        for state in states:
            if state.status != "current":
                problems.append(_behind(state))
            elif metadata and state.owner in metadata:
                problems += _differences(connection, state.owner, metadata[state.owner])
    return tuple(problems)


def _behind(state: State) -> str:
    if state.status == "newer":
        return newer(state)
    have = f"at revision {state.current}" if state.current else "missing"
    return f"the tables of {state.owner!r} are {have}, the code needs {state.head}; run `wakeful db upgrade`"


def _differences(connection: Connection, owner: str, metadata: MetaData) -> list[str]:
    def mine(name: str | None, kind: str, parents: object) -> bool:
        del parents
        return kind != "table" or name in metadata.tables

    context = MigrationContext.configure(
        connection,
        opts={
            "version_table": version_table(owner),
            "include_name": mine,
            "compare_type": True,
            "compare_server_default": _default_differs,
        },
    )
    found = _flat(compare_metadata(context, metadata))
    return [f"the tables of {owner!r} differ from the code: {_said(each)}" for each in found]


def _default_differs(_context: object, _have: object, _want: object, have: str | None, *want: Any) -> bool:
    # Alembic's own comparison takes the empty string for no default; PostgreSQL adds a cast.
    return _plain(have) != _plain(want[-1])


def _plain(default: str | None) -> str | None:
    return None if default is None else default.partition("::")[0].strip("()'")


def _flat(differences: Iterable[Any]) -> Iterable[tuple[Any, ...]]:
    # Changes of one column come as a list in the list.
    for each in differences:
        if isinstance(each, list):
            yield from each
        else:
            yield each


def _said(difference: tuple[Any, ...]) -> str:
    kind, parts = difference[0], difference[1:]
    if kind.startswith("modify_"):
        _, table, column, _, database, code = parts
        return f"{kind[7:]} of {table}.{column} is {database!r}, should be {code!r}"
    verb = "is missing" if kind.startswith("add_") else "should not be there"
    what = parts[-1]
    table = parts[1] if kind.endswith("_column") else getattr(getattr(what, "table", None), "name", "")
    name = getattr(what, "name", what)
    return f"{kind.partition('_')[2]} {f'{table}.' if table else ''}{name} {verb}"
