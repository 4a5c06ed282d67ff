"""What a model gave for a record, checked: its key, its fields, its values. Nothing here writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wakeful.types import ActionError, InvalidParam, Json, canonical, meant, near
from wakeful_records.schema import Catalogue, Entity, Field, unknown_fields
from wakeful_records.values import EXPECTED, bind, coerce, present

#: Kinds whose equal values Python does not tell apart as JSON does (true and 1).
_LOOSE = {"json", "array", "other"}


def key_of(entity: Entity, given: Json) -> dict[str, Any]:
    """Return the primary key as column to value.

    Args:
        entity: whose record is meant.
        given: the value of a key of one column, or an object with every column of the key.

    Raises:
        ActionError: NO_KEY or INVALID_VALUE.
    """
    if not entity.keys:
        raise ActionError(
            "NO_KEY",
            f"{entity.name} has no key by which one record can be named",
            suggestion="Use search_records or run_query.",
        )
    fields = [entity.fields[name] for name in entity.keys]
    parts = {fields[0].name: given} if len(fields) == 1 and not isinstance(given, dict) else given
    example = {field.name: EXPECTED[field.kind] for field in fields}
    named = (
        {meant(str(name), entity.keys): value for name, value in parts.items()}
        if isinstance(parts, dict)
        else {}
    )
    if set(named) != set(entity.keys):
        raise ActionError(
            "INVALID_VALUE",
            f"id: the key of {entity.name} is {', '.join(entity.keys)}",
            suggestion="Give an object with exactly these names.",
            example=example,
        )
    several = isinstance(given, dict)
    places = {field.name: f"id.{field.name}" if several else "id" for field in fields}
    return coerced([(field, named[field.name]) for field in fields], places, writing=False)


def check_writable(catalogue: Catalogue, entity: Entity) -> None:
    """Refuse an entity that may only be read."""
    if not entity.writable:
        names = [other.name for other in catalogue.entities.values() if other.writable]
        raise ActionError(
            "ENTITY_READ_ONLY",
            f"{entity.name} can only be read",
            suggestion=f"Writable are: {', '.join(names) or 'none'}.",
            suggested=near(entity.name, names),
        )


def settable(field: Field) -> bool:
    """Return whether the field can be given a value at all."""
    return not field.generated and field.kind != "binary"


def chosen_values(
    entity: Entity,
    fields: Mapping[str, Field],
    values: Mapping[str, Json],
    key: Mapping[str, Any] | None = None,
) -> dict[str, Json]:
    """Return the values by column name, or refuse all that cannot be set at once."""
    if not values:
        raise ActionError(
            "NO_FIELDS", "no values were given", suggestion=f"Writable fields: {', '.join(fields)}."
        )
    unknown = [name for name in values if entity.find(name) is None]
    if unknown:
        raise unknown_fields(entity, unknown, fields)
    chosen: dict[str, Json] = {}
    invalid = []
    for written, value in values.items():
        field = entity.field(written)
        if key and field.name in key and equals(value, key[field.name], field):
            continue  # the key as it is, repeated among the values
        if field.name not in fields:
            invalid.append(InvalidParam(f"values.{written}", "cannot be written"))
        elif field.name in chosen:
            invalid.append(InvalidParam(f"values.{written}", f"means {field.name}, which is given twice"))
        chosen[field.name] = value
    _check_invalid(invalid)
    if not chosen:
        raise ActionError(
            "NO_FIELDS", "only the key was given", suggestion=f"Writable fields: {', '.join(fields)}."
        )
    return chosen


def check_required(entity: Entity, missing: list[str]) -> None:
    """Refuse a record that lacks values which may not be null."""
    if missing:
        raise ActionError(
            "NOT_NULL",
            f"{entity.name} needs a value for {', '.join(missing)}; nothing was written",
            invalid=[
                InvalidParam(f"values.{name}", "required", EXPECTED[entity.fields[name].kind])
                for name in missing
            ],
            suggestion="Give these values; ask the user if you do not know them.",
        )


def coerced(
    pairs: Iterable[tuple[Field, Json]], places: Mapping[str, str] | None = None, *, writing: bool = True
) -> dict[str, Any]:
    """Return the values as the columns take them, by column name; refuse all that do not fit at once.

    Args:
        pairs: columns and what was given for them.
        places: column name to the argument it came in; by default ``values.<name>``.
        writing: whether a refusal says that nothing was written.
    """
    made, invalid = {}, []
    for field, value in pairs:
        try:
            made[field.name] = coerce(value, field)
        except ValueError as error:
            reason = f"{canonical(value)[:60]} does not fit {field.type}"
            place = places[field.name] if places else f"values.{field.name}"
            invalid.append(InvalidParam(place, reason, str(error), field.choices))
    _check_invalid(invalid, writing=writing)
    return made


def bound_values(entity: Entity, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is handed to the driver, by column name."""
    return {name: bind(value, entity.fields[name]) for name, value in values.items()}


def equals(given: Json, stored: Any, field: Field) -> bool:
    """Return whether a value as a model writes it is the stored one."""
    try:
        return same(stored, coerce(given, field), field)
    except ValueError:
        return False


def same(stored: Any, new: Any, field: Field) -> bool:
    """Return whether a stored value already is ``new``, whatever its spelling."""
    if stored is None or new is None:
        return stored is new
    if field.kind in _LOOSE:
        return canonical(present(stored, field)) == canonical(present(new, field))
    try:
        return bool(coerce(present(stored, field), field) == new)
    except ValueError:
        return False


def _check_invalid(invalid: list[InvalidParam], *, writing: bool = True) -> None:
    if invalid:
        said = "; ".join(
            f"{item.param} {item.reason}"
            + (f", expected {item.expected_format}" if item.expected_format else "")
            for item in invalid
        )
        rest = "; nothing was written" if writing else ""
        raise ActionError("INVALID_VALUE", f"{said}{rest}", invalid=invalid)
