"""Statements that are compiled once and then go straight to the driver.

Taking a statement through SQLAlchemy costs several times what SQLite needs to execute it. So the statements
of every turn and step are compiled once for each kind of database; what is left to do is to convert values.
They are written with SQLAlchemy like all others, and run in the transactions of its connections.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from attrs import define, field
from sqlalchemy import Column, Connection, Delete, Dialect, Insert, Select, Table, Update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

Statement = Select[Any] | Insert | Update | Delete
Convert = Callable[[Any], Any]


@define(eq=False)
class Prepared:
    """A statement whose parameters are ``bindparam(name)``; an INSERT takes the columns of its table.

    Columns that the values of an INSERT leave out get their default. It must do without ``in_()``, which
    SQLAlchemy spells anew for every execution. Like any other statement it begins a transaction where none is
    open.

    Args:
        statement: of SQLAlchemy Core.
    """

    statement: Statement
    _compiled: dict[str, _Compiled] = field(factory=dict, init=False)

    def run(self, conn: Connection, values: Mapping[str, Any]) -> int:
        """Execute it, which returns no rows, and tell how many it touched.

        Raises:
            sqlalchemy.exc.DBAPIError: the driver's error, as SQLAlchemy names it.
            TypeError: a value is missing, or is for no parameter.
        """
        _, cursor = self._execute(conn, values)
        count: int = cursor.rowcount
        cursor.close()
        return count

    def run_each(self, conn: Connection, many: Iterable[Mapping[str, Any]]) -> None:
        """Execute it once for each of ``many``; errors as for :meth:`run`."""
        for values in many:
            self.run(conn, values)

    def first(self, conn: Connection, values: Mapping[str, Any]) -> Any:
        """Execute it and return the first row, a named tuple, or None; errors as for :meth:`run`."""
        compiled, cursor = self._execute(conn, values)
        found = cursor.fetchone()
        description = cursor.description
        cursor.close()
        return None if found is None else compiled.row(found, description)

    def all(self, conn: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Execute it and return its rows, named tuples; errors as for :meth:`run`."""
        compiled, cursor = self._execute(conn, values)
        found = cursor.fetchall()
        description = cursor.description
        cursor.close()
        return [compiled.row(row, description) for row in found]

    def _execute(self, conn: Connection, values: Mapping[str, Any]) -> tuple[_Compiled, Any]:
        dialect = conn.dialect
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = _compile(self.statement, dialect)
        parameters = compiled.bind(values)
        if not conn.in_transaction():
            conn.begin()
        driver = conn.connection
        cursor = driver.cursor()
        base = dialect.loaded_dbapi.Error
        try:
            dialect.do_execute(cursor, compiled.text, parameters)
        except base as error:
            lost = dialect.is_disconnect(error, driver.dbapi_connection, cursor)
            if lost:
                conn.invalidate(error)
            raise DBAPIError.instance(
                compiled.text, None, error, base, connection_invalidated=lost, dialect=dialect
            ) from error
        return compiled, cursor


@define(eq=False)
class _Compiled:
    """A statement as one driver takes it.

    Args:
        text: what the driver gets.
        places: names of the parameters in their order; None if the driver takes them by name.
        names: of all parameters.
        defaults: values of parameters that need not be given.
        convert: how values become what the driver takes, where they are not that already.
        make: makes a named tuple of a row.
        types: of the columns of a row.
        dialect: what it is compiled for.
        results: how what the driver gives becomes values, by place in the row; known with the first row.
    """

    text: str
    places: tuple[str, ...] | None
    names: frozenset[str]
    defaults: dict[str, Any]
    convert: tuple[tuple[str, Convert], ...]
    make: Convert
    types: tuple[TypeEngine[Any], ...]
    dialect: Dialect
    results: tuple[tuple[int, Convert], ...] | None = None

    def bind(self, values: Mapping[str, Any]) -> Any:
        """Return the parameters for the driver."""
        given = {**self.defaults, **values}
        if given.keys() != self.names:
            expected = ", ".join(sorted(self.names - self.defaults.keys())) or "none"
            got = ", ".join(sorted(values)) or "none"
            raise TypeError(f"expected the parameters {expected}, got {got} in: {self.text}")
        for name, convert in self.convert:
            given[name] = convert(given[name])
        return given if self.places is None else tuple([given[name] for name in self.places])

    def row(self, raw: Any, description: Any) -> Any:
        """Return a row of the driver as a named tuple of values."""
        if self.results is None:
            kinds = (column[1] for column in description)
            converters = [
                type_.dialect_impl(self.dialect).result_processor(self.dialect, kind)
                for type_, kind in zip(self.types, kinds, strict=True)
            ]
            self.results = tuple((place, each) for place, each in enumerate(converters) if each is not None)
        if not self.results:
            return self.make(raw)
        values = list(raw)
        for place, convert in self.results:
            values[place] = convert(values[place])
        return self.make(values)


def _compile(statement: Statement, dialect: Dialect) -> _Compiled:
    columns: list[Column[Any]] = []
    if isinstance(statement, Insert):
        table = cast("Table", statement.table)
        # A serial number is the database's to give; nobody asks which it gave.
        columns = [column for column in table.columns if column is not table.autoincrement_column]
        statement = statement.inline()
    compiled = statement.compile(dialect=dialect, column_keys=[column.key for column in columns] or None)
    binds = list(compiled.bind_names.items())
    defaults = {name: compiled.params[name] for bind, name in binds if not bind.required}
    for column in columns:
        defaults.pop(column.key, None)
        if column.default is not None or column.nullable:
            defaults[column.key] = getattr(column.default, "arg", None)
    returned = list(statement.exported_columns)
    keys = [column.key or "" for column in returned]
    row: Any = namedtuple("row", keys, rename=True)  # type: ignore[misc]  # noqa: PYI024  (made from names)
    return _Compiled(
        text=str(compiled),
        places=tuple(compiled.positiontup or ()) if compiled.positional else None,
        names=frozenset(compiled.params),
        defaults=defaults,
        convert=tuple(
            (name, convert)
            for bind, name in binds
            if (convert := bind.type.dialect_impl(dialect).bind_processor(dialect)) is not None
        ),
        make=row._make,
        types=tuple(column.type for column in returned),
        dialect=dialect,
    )
