"""The description of an entity that a model reads before it writes."""

from __future__ import annotations

from wakeful.types import ActionResult, Json
from wakeful_records.schema import Entity, Field
from wakeful_records.settings import RecordsSettings


def description(
    entity: Entity, rows: int | None, settings: RecordsSettings, *, writable: bool
) -> ActionResult:
    """Return the result of describing ``entity``; ``rows`` is None when counting took too long."""
    columns = [_column(field) for field in entity.fields.values()]
    counted = "unknown number of" if rows is None else str(rows)
    outputs: dict[str, Json] = {
        "entity": entity.name,
        "kind": "view" if entity.view else "table",
        "writable": writable,
        "key": list(entity.keys),
        "columns": columns,
        "rows": rows,
    }
    version = entity.fields.get(settings.version_column)
    if version is not None:
        outputs["version"] = version.name
    return ActionResult(message=f"{entity.name}: {len(columns)} columns, {counted} rows", outputs=outputs)


def _column(field: Field) -> dict[str, Json]:
    """Return what a model needs to know of a column, without what says nothing."""
    made: dict[str, Json] = {"name": field.name, "type": field.type, "nullable": field.nullable}
    optional = {
        "default": field.default,
        "key": field.key,
        "generated": field.generated,
        "references": field.references,
        "values": list(field.choices),
        "comment": field.comment,
    }
    return made | {name: value for name, value in optional.items() if value}
