"""Defaults of parameters, held to the type that is declared beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wakeful.tools.shapes import json_type, types_of
from wakeful.tools.values import Unserialisable, to_json
from wakeful.types import DeclarationError, Json


def check_default(default: Any, schema: Mapping[str, Json], where: str) -> None:
    """Refuse a default that a model could not give: of another type, or none of the allowed values.

    Args:
        default: the Python value.
        schema: of the parameter.
        where: names the action and the parameter.

    Raises:
        DeclarationError: it does not fit.
    """
    kinds = types_of(schema)
    if not kinds:
        return
    if default is None:
        if "null" not in kinds:
            msg = f"{where}: defaults to None, which its type does not allow; write 'X | None'"
            raise DeclarationError(msg)
        return
    try:
        value = to_json(default)
    except Unserialisable:
        return  # not shown to models, and the function's own business
    # Integers beyond 64 bits travel as strings; here the number counts.
    found = "integer" if type(default) is int else json_type(value)
    if found not in kinds and not (found == "integer" and "number" in kinds):
        expected = " or ".join(sorted(kinds))
        raise DeclarationError(f"{where}: defaults to {default!r}, {_a(found)}; its type is {expected}")
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        listed = ", ".join(repr(item) for item in allowed[:12])
        raise DeclarationError(f"{where}: defaults to {default!r}, which is none of {listed}")


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aio' else 'a'} {kind}"
