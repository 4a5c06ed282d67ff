"""What views make of hidden columns, and the names under which they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import lineage
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

#: A table or view, and a column of it, in lower case.
Column = tuple[str, str]


def derived(
    definitions: Mapping[str, str | None],
    columns: Mapping[str, Sequence[str]],
    hidden: frozenset[Column],
    dialect: str,
) -> frozenset[Column]:
    """Return the columns of views whose values come from hidden columns, through other views too.

    A view that cannot be followed loses all its columns, unless it names no table with hidden ones.

    Args:
        definitions: view to the SQL that made it, or None where the database does not tell.
        columns: table or view to its columns, in order.
        hidden: the hidden columns of tables and views.
        dialect: sqlglot's name for the database's dialect.
    """
    tables: dict[str, object] = {
        table.lower(): {name.lower(): "text" for name in names} for table, names in columns.items()
    }
    schema = MappingSchema(tables, dialect=dialect, normalize=False)
    sources = {view: _sources(text, columns[view], schema, dialect) for view, text in definitions.items()}
    found = hidden
    while True:
        more = found | {
            (view.lower(), name.lower())
            for view, text in definitions.items()
            for index, name in enumerate(columns[view])
            if _comes_from(found, sources[view], index, text)
        }
        if more == found:
            return found - hidden
        found = more


def _comes_from(
    hidden: frozenset[Column], sources: Sequence[frozenset[Column]] | None, index: int, text: str | None
) -> bool:
    """Return whether a view's column may come from a hidden one; if its sources are not known, by names."""
    if sources is not None:
        return bool(sources[index] & hidden)
    return text is None or any(table in text.lower() for table, _ in hidden)


def _sources(
    text: str | None, names: Sequence[str], schema: MappingSchema, dialect: str
) -> list[frozenset[Column]] | None:
    """Return for each column of a view the columns that its values come from; None if that is not clear."""
    try:
        tree = sqlglot.parse_one(text or "", dialect=dialect)
        query = tree.expression if isinstance(tree, exp.Create) else tree
        if not isinstance(query, exp.Query):
            return None
        for name in query.find_all(exp.Identifier):
            name.replace(exp.to_identifier(name.name.lower(), quoted=True))
        for table in query.find_all(exp.Table):
            table.set("db", None)
            table.set("catalog", None)
        query = qualify(query, schema=schema, dialect=dialect)
        if len(query.selects) != len(names):
            return None
        for index, column in enumerate(query.selects):
            column.replace(exp.alias_(column.unalias(), f"column_{index}", quoted=True))
        return [frozenset(_leaves(f"column_{index}", query, schema, dialect)) for index in range(len(names))]
    except (SqlglotError, ValueError):
        return None


def _leaves(column: str, query: exp.Query, schema: MappingSchema, dialect: str) -> Iterator[Column]:
    """Yield the columns of tables that a column of a query comes from.

    Raises:
        ValueError: it comes from something else, too.
    """
    for node in lineage(column, query, schema=schema, dialect=dialect).walk():
        if node.downstream or not isinstance(node.expression, exp.Table | exp.Placeholder):
            continue
        if not isinstance(node.expression, exp.Table) or node.expression.name not in schema.mapping:
            raise ValueError(node.name)
        yield node.expression.name, exp.to_column(node.name, dialect=dialect).name


def common_tables(definitions: Mapping[str, str | None], dialect: str) -> frozenset[str]:
    """Return the names of the common table expressions in definitions, in lower case.

    Args:
        definitions: as for :func:`derived`.
        dialect: as for :func:`derived`.
    """
    found: set[str] = set()
    for text in definitions.values():
        try:
            found |= {
                each.alias.lower()
                for each in sqlglot.parse_one(text or "", dialect=dialect).find_all(exp.CTE)
            }
        except SqlglotError:
            continue  # what the view reads under such a name is refused
    return frozenset(found)
