"""Reading the schema of a database: tables, views, columns, keys and references, hidden ones left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import SQLAlchemyError

from wakeful_records.database import DIALECTS
from wakeful_records.schema import Catalogue, Entity, Field
from wakeful_records.settings import RecordsSettings, matches

#: The check that MariaDB gives a column that was declared as JSON.
_JSON_CHECK = re.compile(r"\(*json_valid\(`(\w+)`\)\)*")
_PYTHON_KINDS = {
    "str": "text",
    "int": "integer",
    "float": "number",
    "Decimal": "decimal",
    "bool": "boolean",
    "date": "date",
    "datetime": "datetime",
    "time": "time",
    "bytes": "binary",
    "dict": "json",
    "list": "array",
    "UUID": "uuid",
}


def reflect(connection: sa.Connection, settings: RecordsSettings) -> Catalogue:
    """Read tables, views, columns, keys and references of the default schema, hidden ones left out."""
    inspector = sa.inspect(connection)
    sqlite = connection.dialect.name == "sqlite"
    schema = "main" if sqlite else (inspector.default_schema_name or "")
    columns = _by_name(inspector.get_multi_columns(kind=ObjectKind.ANY))
    keys = _by_name(inspector.get_multi_pk_constraint())
    links = _by_name(inspector.get_multi_foreign_keys())
    views = {*inspector.get_view_names(), *_materialised(inspector)}
    internal = _internal(connection) if sqlite else frozenset()
    for name, column in _documents(connection):
        for item in columns.get(name, ()):
            if item["name"] == column:
                item["type"] = sa.JSON()
    visible = [
        name for name in sorted(columns) if not matches(name, settings.hidden_tables) and name not in internal
    ]
    hidden, within = _hidden(inspector, columns, views, settings)
    shown = {
        name: [item for item in columns[name] if (name.lower(), item["name"].lower()) not in hidden]
        for name in visible
    }
    entities = {}
    for name in visible:
        if not shown[name]:
            continue
        primary = tuple((keys.get(name) or {}).get("constrained_columns") or ())
        references = _references(links.get(name) or (), shown)
        fields = {
            item["name"]: _field(item, primary, references.get(item["name"], ""), native=not sqlite)
            for item in shown[name]
        }
        entities[name] = Entity(
            name=name,
            table=_table(name, shown[name], fields, None if sqlite else inspector.default_schema_name),
            fields=fields,
            keys=primary if all(key in fields for key in primary) else (),
            view=name in views,
            writable=name not in views and matches(name, settings.writable_tables),
            partial=len(shown[name]) < len(columns[name]),
        )
    return Catalogue(schema=schema, entities=entities, within=within)


def _hidden(
    inspector: sa.Inspector, columns: Mapping[str, Any], views: Iterable[str], settings: RecordsSettings
) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """Return (table, column) in lower case of what is hidden, also in views, and ``Catalogue.within``."""
    names = {table: [str(item["name"]) for item in items] for table, items in columns.items()}
    hidden = frozenset(
        (table.lower(), name.lower())
        for table, items in names.items()
        for name in items
        if matches(f"{table}.{name}", settings.hidden_columns)
    )
    definitions = {view: _definition(inspector, view) for view in views if view in names}
    within = frozenset(view.lower() for view in definitions)
    if not definitions or not (hidden or settings.hidden_tables):
        return hidden, within
    from wakeful_records.views import common_tables, derived

    dialect = DIALECTS[inspector.dialect.name][0]
    return hidden | derived(definitions, names, hidden, dialect), within | common_tables(definitions, dialect)


def _definition(inspector: sa.Inspector, view: str) -> str | None:
    try:
        return inspector.get_view_definition(view)
    except SQLAlchemyError:  # the account may not see it
        return None


def _internal(connection: sa.Connection) -> frozenset[str]:
    """Return the tables in which SQLite's virtual tables keep their data, e.g. those of a full-text index."""
    listed = connection.exec_driver_sql("PRAGMA table_list").all()
    return frozenset(row[1] for row in listed if row[2] == "shadow")


def _documents(connection: sa.Connection) -> frozenset[tuple[str, str]]:
    """Return (table, column) of MariaDB's JSON columns, which are texts with a check."""
    if not getattr(connection.dialect, "is_mariadb", False):
        return frozenset()
    query = (
        "SELECT table_name, check_clause FROM information_schema.check_constraints"
        " WHERE constraint_schema = DATABASE()"
    )
    found = ((name, _JSON_CHECK.fullmatch(text)) for name, text in connection.exec_driver_sql(query).all())
    return frozenset((name, match[1]) for name, match in found if match)


def _materialised(inspector: sa.Inspector) -> list[str]:
    try:
        return inspector.get_materialized_view_names()
    except NotImplementedError:
        return []


def _by_name(found: Mapping[tuple[str | None, str], Any]) -> dict[str, Any]:
    return {name: value for (_, name), value in found.items()}


def _references(links: Iterable[Any], shown: Mapping[str, Iterable[Any]]) -> dict[str, str]:
    """Return column to ``table.column`` for references whose both ends are visible."""
    made = {}
    for link in links:
        target = link["referred_table"]
        names = {item["name"] for item in shown.get(target, ())}
        for own, other in zip(link["constrained_columns"], link["referred_columns"], strict=False):
            if other in names:
                made[own] = f"{target}.{other}"
    return made


def _kind(type_: Any) -> str:
    if isinstance(type_, sa.JSON):
        return "json"
    if isinstance(type_, sa.DateTime) and type_.timezone:
        return "datetimetz"
    if getattr(type_, "display_width", None) == 1 and isinstance(type_, sa.Integer):
        return "boolean"  # how MySQL and MariaDB keep one: TINYINT(1)
    try:
        name = type_.python_type.__name__
    except NotImplementedError:
        return "other"
    return _PYTHON_KINDS.get(name, "other")


def _field(item: Any, primary: tuple[str, ...], references: str, *, native: bool) -> Field:
    type_, kind = item["type"], _kind(item["type"])
    key = item["name"] in primary
    # SQLite gives an INTEGER PRIMARY KEY its value; elsewhere the database's default says so.
    rowid = not native and primary == (item["name"],) and str(type_) == "INTEGER"
    default = item.get("default")
    identity = item.get("identity")
    automatic = rowid or bool(identity) or item.get("autoincrement") is True or "nextval(" in str(default)
    return Field(
        name=item["name"],
        type=str(type_),
        kind=kind,
        nullable=bool(item["nullable"]) and not key,
        default="auto" if automatic else default,
        key=key,
        generated=bool(item.get("computed")) or bool(identity and identity.get("always")),
        comment=item.get("comment") or "",
        references=references,
        length=getattr(type_, "length", None) if kind == "text" else None,
        scale=getattr(type_, "scale", None) if kind == "decimal" else None,
        choices=tuple(getattr(type_, "enums", ()) or ()),
        native=native,
    )


def _table(name: str, items: Iterable[Any], fields: Mapping[str, Field], schema: str | None) -> sa.Table:
    """Build the table of the visible columns.

    On SQLite the columns are untyped: SQLAlchemy's types refuse values that other programs stored.
    """
    columns = []
    for item in items:
        described = fields[item["name"]]
        type_: Any = item["type"]
        if not described.native:
            type_ = sa.Integer() if described.kind == "integer" else sa.types.NullType()
        columns.append(
            sa.Column(
                item["name"],
                type_,
                primary_key=described.key,
                autoincrement=described.default == "auto" if described.key else "auto",
                server_default=sa.FetchedValue() if described.default not in {None, "auto"} else None,
            )
        )
    return sa.Table(name, sa.MetaData(), *columns, schema=schema)
