"""Values between JSON and the database: lossless in both directions, or refused."""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from wakeful.types import Json, nests_too_deep, read_json

if TYPE_CHECKING:
    from wakeful_records.schema import Field

#: Levels of a JSON value; one that nests deeper is given as text, so that a cell never spoils an answer.
NESTING = 32
#: What a column of a kind expects, for messages.
EXPECTED = {
    "text": "a text",
    "integer": "a whole number",
    "number": "a number",
    "decimal": 'a decimal number such as "12.50"',
    "boolean": "true or false",
    "date": "a date such as 2026-01-31",
    "datetime": "a date and time such as 2026-01-31T09:30:00",
    "datetimetz": "a date and time with its offset, such as 2026-01-31T09:30:00+00:00",
    "time": "a time such as 09:30:00",
    "uuid": "a UUID",
    "array": "a list",
    "json": "any JSON value",
    "binary": "nothing: binary columns cannot be written",
    "other": "a text, number, boolean or list",
}


def present(value: object, field: Field | None = None) -> Json:
    """Return a value of the database as JSON.

    Dates are ISO 8601, decimals are texts, binary values are ``<n bytes>``,
    JSON of more than 32 levels is its text.

    Args:
        value: what the driver gave.
        field: its column, when known; SQLite needs it, as it stores booleans and decimals as numbers.
    """
    kind = field.kind if field else ""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    if kind == "boolean" and isinstance(value, int) and value in {0, 1}:
        return bool(value)
    if kind == "decimal" and isinstance(value, int | float | Decimal):
        return _decimal_text(Decimal(repr(value)) if isinstance(value, float) else Decimal(value), field)
    if kind == "json" and isinstance(value, str):
        value = _loaded(value)
    if nests_too_deep(value, NESTING):
        return json.dumps(value, ensure_ascii=False, default=str)
    return _plain(value)


def _plain(value: object) -> Json:
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    if isinstance(value, Mapping):
        return {str(key): present(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [present(item) for item in value]
    return str(value)


def _decimal_text(value: Decimal, field: Field | None) -> str:
    if field and field.scale is not None and value.is_finite():
        padded = value.quantize(Decimal(1).scaleb(-field.scale))
        if padded == value:
            return format(padded, "f")
    return format(value, "f")


def _loaded(text: str) -> Json:
    try:
        return read_json(text)
    except ValueError:
        return text


def coerce(value: Json, field: Field) -> Any:
    """Return the Python value of ``value`` for a column.

    Raises:
        ValueError: it cannot be done without loss; the text says what was expected.
    """
    if value is None:
        return None
    try:
        made = _COERCE.get(field.kind, _other)(value, field)
    except (ValueError, TypeError, KeyError, InvalidOperation, OverflowError) as error:
        detail = (
            str(error) if isinstance(error, _ReasonError) else EXPECTED.get(field.kind, EXPECTED["other"])
        )
        raise ValueError(detail) from None
    return made


class _ReasonError(ValueError):
    """A refusal that says more than the kind's general text."""


def _text(value: Json, field: Field) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    text = value if isinstance(value, str) else repr(value)
    if "\0" in text:
        message = "a text without NUL characters"
        raise _ReasonError(message)
    if field.length is not None and len(text) > field.length:
        message = f"at most {field.length} characters, not {len(text)}"
        raise _ReasonError(message)
    if field.choices and text not in field.choices:
        message = f"one of {', '.join(field.choices)}"
        raise _ReasonError(message)
    return text


def _integer(value: Json, _: Field) -> int:
    written = isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,40}\s*", value)
    if written or (isinstance(value, float) and value.is_integer()):
        made = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        made = value
    else:
        raise TypeError
    if not -(2**63) <= made < 2**64:
        message = "a whole number of at most 64 bits"
        raise _ReasonError(message)
    return made


def _number(value: Json, _: Field) -> float | int:
    if isinstance(value, bool):
        raise TypeError
    made = value if isinstance(value, int) else float(value)
    if isinstance(made, float) and not math.isfinite(made):
        raise ValueError
    return made


def _decimal(value: Json, field: Field) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    made = Decimal(repr(value) if isinstance(value, float) else value)
    if not made.is_finite():
        raise ValueError
    exponent = made.normalize().as_tuple().exponent
    if field.scale is not None and isinstance(exponent, int) and -exponent > field.scale:
        message = f"a decimal number with at most {field.scale} decimals"
        raise _ReasonError(message)
    return made


def _boolean(value: Json, _: Field) -> bool:
    if isinstance(value, str):
        return _TRUTH[value.strip().lower()]
    if value in (0, 1):
        return bool(value)
    raise TypeError


_TRUTH = {"true": True, "false": False}


def _date(value: Json, _: Field) -> date:
    return date.fromisoformat(_stripped(value))


def _datetime(value: Json, field: Field) -> datetime:
    made = datetime.fromisoformat(_stripped(value))
    if field.native and made.tzinfo is not None:
        # A database drops the offset of such a column in silence.
        message = "a date and time without an offset, such as 2026-01-31T09:30:00"
        raise _ReasonError(message)
    return made


def _datetimetz(value: Json, _: Field) -> datetime:
    made = datetime.fromisoformat(_stripped(value))
    if made.tzinfo is None:
        raise ValueError
    return made


def _time(value: Json, _: Field) -> time:
    return time.fromisoformat(_stripped(value))


def _uuid(value: Json, _: Field) -> uuid.UUID:
    return uuid.UUID(_stripped(value))


def _stripped(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value.strip()


def _array(value: Json, _: Field) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _json(value: Json, _: Field) -> Json:
    return value


def _binary(_value: Json, _: Field) -> Any:
    raise TypeError


def _other(value: Json, _: Field) -> Any:
    if isinstance(value, dict):
        raise TypeError
    return value


_COERCE: dict[str, Callable[[Any, Field], Any]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "decimal": _decimal,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "datetimetz": _datetimetz,
    "time": _time,
    "uuid": _uuid,
    "array": _array,
    "json": _json,
    "binary": _binary,
}


def bind(value: Any, field: Field) -> Any:
    """Return what is handed to the driver for a coerced value.

    SQLite has no types for these values; they are stored as other programs store them there: dates
    and times as ISO texts with a blank in the middle, decimals as texts (the column's affinity makes
    numbers of them where nothing is lost), JSON as text.
    """
    if field.native or value is None:
        return value
    if field.kind == "json":
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return value
