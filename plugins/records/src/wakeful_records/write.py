"""Creating, updating and deleting one record. Everything is checked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from attrs import frozen
from sqlalchemy.exc import DBAPIError

from wakeful.types import ActionError, Json
from wakeful_records.errors import known, translate
from wakeful_records.given import (
    bound_values,
    check_required,
    check_writable,
    chosen_values,
    coerced,
    equals,
    key_of,
    same,
    settable,
)
from wakeful_records.schema import Catalogue, Entity, Field
from wakeful_records.search import record
from wakeful_records.values import present


@frozen
class Changed:
    """What an update did: the fields it changed, and the new version where there is one."""

    fields: tuple[str, ...]
    version: Json = None


def find(connection: sa.Connection, entity: Entity, given: Json, *, lock: bool = False) -> Any:
    """Return the row with the key ``given``, locked against other writers if asked.

    Raises:
        ActionError: RECORD_NOT_FOUND, NO_KEY or INVALID_VALUE.
    """
    key = key_of(entity, given)
    query = sa.select(*entity.table.c).where(*_where(entity, key))
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        shown = ", ".join(f"{name}={present(value)}" for name, value in key.items())
        raise ActionError(
            "RECORD_NOT_FOUND",
            f"{entity.name} has no record with {shown}",
            suggestion="Find the record with search_records.",
            next_actions=("search_records",),
        )
    return row


def create(
    connection: sa.Connection, catalogue: Catalogue, entity: Entity, values: Mapping[str, Json]
) -> Json:
    """Insert a record and return its key: a value, an object for several columns, None without a key."""
    check_writable(catalogue, entity)
    fields = {name: field for name, field in entity.fields.items() if settable(field)}
    chosen = chosen_values(entity, fields, values)
    missing = [
        field.name
        for field in fields.values()
        if not field.nullable and field.default is None and chosen.get(field.name) is None
    ]
    check_required(entity, missing)
    made = coerced([(entity.fields[name], value) for name, value in chosen.items()])
    inserted = _execute(connection, entity, sa.insert(entity.table).values(bound_values(entity, made)))
    key = {
        column.name: present(value, entity.fields[column.name])
        for column, value in zip(entity.table.primary_key, inserted.inserted_primary_key or (), strict=False)
    }
    if not entity.keys:
        return None
    return key[entity.keys[0]] if len(entity.keys) == 1 else key


def update(
    connection: sa.Connection,
    catalogue: Catalogue,
    entity: Entity,
    given: Json,
    values: Mapping[str, Json],
    version: tuple[str, Json],
) -> Changed:
    """Change fields of one record; ``version`` is the settings' column and the value that was read."""
    check_writable(catalogue, entity)
    lock = entity.fields.get(version[0])
    fields = {
        name: field
        for name, field in entity.fields.items()
        if settable(field) and not field.key and field is not lock
    }
    chosen = chosen_values(entity, fields, values, key=key_of(entity, given))
    empty = [name for name, value in chosen.items() if value is None and not entity.fields[name].nullable]
    check_required(entity, empty)
    made = coerced([(entity.fields[name], value) for name, value in chosen.items()])
    row = find(connection, entity, given, lock=True)
    conditions = [*_where(entity, key_of(entity, given)), *_version(entity, lock, row, version[1])]
    stored = dict(zip(entity.fields, row, strict=True))
    changed = {
        name: value for name, value in made.items() if not same(stored[name], value, entity.fields[name])
    }
    if not changed:
        return Changed((), present(stored[lock.name], lock) if lock else None)
    bound = bound_values(entity, changed)
    following: Json = None
    if lock is not None and lock.kind == "integer":
        following = int(stored[lock.name] or 0) + 1
        bound[lock.name] = following
    result = _execute(connection, entity, sa.update(entity.table).where(*conditions).values(bound))
    if result.rowcount == 0:
        raise known("CONCURRENT_UPDATE")
    return Changed(tuple(changed), following)


def delete(
    connection: sa.Connection, catalogue: Catalogue, entity: Entity, given: Json, version: tuple[str, Json]
) -> dict[str, Json]:
    """Delete one record and return what it held."""
    check_writable(catalogue, entity)
    row = find(connection, entity, given, lock=True)
    lock = entity.fields.get(version[0])
    conditions = [*_where(entity, key_of(entity, given)), *_version(entity, lock, row, version[1])]
    users = [
        f"{other.name}.{field.name}"
        for other in catalogue.entities.values()
        for field in other.fields.values()
        if field.references.rpartition(".")[0] == entity.name
    ]
    result = _execute(connection, entity, sa.delete(entity.table).where(*conditions), users)
    if result.rowcount == 0:
        raise known("CONCURRENT_UPDATE")
    return record(entity, row)


def _where(entity: Entity, key: Mapping[str, Any]) -> list[Any]:
    return [entity.table.c[name] == value for name, value in bound_values(entity, key).items()]


def _version(entity: Entity, lock: Field | None, row: Any, given: Json) -> list[Any]:
    """Return the condition that the version is still the one that was read, or refuse."""
    if lock is None:
        return []
    stored = dict(zip(entity.fields, row, strict=True))[lock.name]
    if given is None:
        raise ActionError(
            "CONCURRENT_UPDATE",
            f"version is required: give the value of {lock.name} as get_record shows it",
            retryable=True,
            next_actions=("get_record",),
        )
    if not equals(given, stored, lock):
        raise known("CONCURRENT_UPDATE", f"{lock.name} is now {present(stored, lock)}")
    return [entity.table.c[lock.name] == stored]


def _execute(
    connection: sa.Connection, entity: Entity, statement: Any, users: Iterable[str] = ()
) -> sa.CursorResult[Any]:
    try:
        return connection.execute(statement)
    except (OverflowError, ValueError, TypeError):
        raise known("INVALID_VALUE") from None
    except DBAPIError as error:
        refusal = translate(error, visible=entity.fields)
        if refusal.code == "REFERENCE_CONSTRAINT":
            links = [
                f"{field.name} → {field.references}" for field in entity.fields.values() if field.references
            ]
            detail = ", ".join(users or links)
            raise known("REFERENCE_CONSTRAINT", detail) from None
        if refusal.code in {"UNIQUE_CONSTRAINT", "NOT_NULL"}:
            raise refusal from None
        raise
