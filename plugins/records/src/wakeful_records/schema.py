"""What the database holds, as far as the agent may see it.

A hidden table or column is left out when the database is read, so nothing later can name it: not a
list, not a suggestion, not an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from attrs import field, frozen
from sqlalchemy.engine.reflection import ObjectKind

from wakeful_records.errors import refuse
from wakeful_records.names import matches, near, resolve
from wakeful_records.settings import RecordsSettings

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


@frozen
class Field:
    """A visible column.

    Args:
        name: as the database spells it.
        type: as the database names it, e.g. ``VARCHAR(40)``.
        kind: the key of ``values.EXPECTED`` that says which values it takes.
        nullable: whether it may be null.
        default: the database's default as text, ``auto`` for generated keys, or None.
        key: whether it belongs to the primary key.
        generated: whether the database computes it, so that it is never written.
        comment: the owner's comment.
        references: ``table.column`` it refers to, when that is visible.
        length: most characters, or None.
        scale: digits after the point of a decimal, or None.
        choices: the values of an enumeration.
        native: whether the driver takes Python values of the type; SQLite has only numbers and texts.
    """

    name: str
    type: str
    kind: str
    nullable: bool = True
    default: str | None = None
    key: bool = False
    generated: bool = False
    comment: str = ""
    references: str = ""
    length: int | None = None
    scale: int | None = None
    choices: tuple[str, ...] = ()
    native: bool = True


@frozen(eq=False)
class Entity:
    """A visible table or view.

    Args:
        name: as the database spells it.
        table: the visible columns for building statements.
        fields: by name, in the database's order.
        keys: the primary key; empty when there is none or a part of it is hidden.
        view: whether it is a view, which is never written.
        writable: whether the settings let it be written.
        partial: whether columns are hidden.
        comment: the owner's comment.
    """

    name: str
    table: sa.Table = field(repr=False)
    fields: Mapping[str, Field]
    keys: tuple[str, ...]
    view: bool
    writable: bool
    partial: bool
    comment: str = ""

    def find(self, written: str) -> Field | None:
        """Return the field that is meant, or None."""
        name = resolve(written, self.fields)
        return None if name is None else self.fields[name]

    def field(self, written: str) -> Field:
        """Return the field that is meant.

        Raises:
            ActionError: UNKNOWN_ENTITY_FIELDS with near names.
        """
        found = self.find(written)
        if found is None:
            raise unknown_fields(self, [written])
        return found


@frozen(eq=False)
class Catalogue:
    """All visible entities, by name, and the schema they are in."""

    schema: str
    entities: Mapping[str, Entity]

    def find(self, written: str) -> Entity | None:
        """Return the entity that is meant, with or without its schema, or None."""
        name = resolve(written, self.entities)
        prefix, _, rest = written.partition(".")
        if name is None and rest and prefix.casefold() == self.schema.casefold():
            name = resolve(rest, self.entities)
        return None if name is None else self.entities[name]

    def entity(self, written: str) -> Entity:
        """Return the entity that is meant.

        Raises:
            ActionError: UNKNOWN_ENTITY with near names.
        """
        found = self.find(written)
        if found is None:
            raise unknown_entity(self, written)
        return found


def unknown_entity(catalogue: Catalogue, written: str) -> Exception:
    """Return the refusal of an entity that does not exist for the agent."""
    close = near(written, catalogue.entities)
    return refuse(
        "UNKNOWN_ENTITY",
        f"there is no entity {written!r}",
        suggestion="Use a name that list_entities gives." if not close else "Use one of the near names.",
        suggested=close,
        next_actions=("list_entities",),
    )


def unknown_fields(entity: Entity, written: Iterable[str], offered: Iterable[str] | None = None) -> Exception:
    """Return the refusal of fields that do not exist for the agent; ``offered`` are the right ones."""
    wrong = list(written)
    names = list(entity.fields if offered is None else offered)
    close = {name: near(name, names) for name in wrong}
    parts = [f"{name!r} (near: {', '.join(close[name])})" if close[name] else repr(name) for name in wrong]
    kind = "fields" if offered is None else "writable fields"
    return refuse(
        "UNKNOWN_ENTITY_FIELDS",
        f"{entity.name} has no field {', '.join(parts)}; nothing was done",
        suggestion=f"The {kind} of {entity.name} are: {', '.join(names)}.",
        suggested=list(dict.fromkeys(item for name in wrong for item in close[name]))[:5],
        next_actions=("describe_entity",),
    )


def reflect(connection: sa.Connection, settings: RecordsSettings) -> Catalogue:
    """Read tables, views, columns, keys and references of the default schema, hidden ones left out."""
    inspector = sa.inspect(connection)
    sqlite = connection.dialect.name == "sqlite"
    schema = "main" if sqlite else (inspector.default_schema_name or "")
    columns = _by_name(inspector.get_multi_columns(kind=ObjectKind.ANY))
    keys = _by_name(inspector.get_multi_pk_constraint())
    links = _by_name(inspector.get_multi_foreign_keys())
    views = {*inspector.get_view_names(), *_materialised(inspector)}
    visible = [name for name in sorted(columns) if not matches(name, settings.hidden_tables)]
    shown = {
        name: [
            item for item in columns[name] if not matches(f"{name}.{item['name']}", settings.hidden_columns)
        ]
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
    return Catalogue(schema=schema, entities=entities)


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
