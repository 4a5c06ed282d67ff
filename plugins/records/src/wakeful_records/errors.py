"""Refusals: failed results with a code and advice, and database errors turned into them.

Texts of a driver can hold passwords and names the agent must not see. Only classified errors leave
this module, and of a driver's text at most its first line, redacted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlalchemy.exc import DBAPIError, InvalidRequestError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from wakeful.types import ActionError

#: Longest piece of a driver's text that is passed on, in characters.
_TEXT_LIMIT = 300

_UNAVAILABLE, _LOCKED, _READ_ONLY = "DATABASE_UNAVAILABLE", "DATABASE_LOCKED", "DATABASE_READ_ONLY"

#: Result code to what it says, and whether trying again helps: None = with other arguments.
_KNOWN: dict[str, tuple[str, bool | None, str]] = {
    "UNIQUE_CONSTRAINT": (
        "a record with the same unique value already exists",
        None,
        "Search for the existing record and update it, or use another value.",
    ),
    "REFERENCE_CONSTRAINT": (
        "a reference is broken: the record referred to does not exist, or this one is still referred to",
        None,
        "Check that the record referred to exists; change or delete first what still refers to this one.",
    ),
    "NOT_NULL": ("a required value is missing", None, "Give every column that may not be null."),
    "CHECK": ("a rule of the database refuses the values", None, "Use values that satisfy the rule."),
    "CONCURRENT_UPDATE": (
        "another transaction changed the same data",
        True,
        "Read the record again and repeat the change.",
    ),
    "INVALID_VALUE": (
        "the database refuses a value",
        None,
        "Compare the values with the types that describe_entity gives.",
    ),
    "PERMISSION_DENIED": ("the database account may not do this", False, ""),
    "QUERY_TIMEOUT": (
        "stopped at the time limit",
        None,
        "Narrow the request: filter, aggregate or ask for fewer rows.",
    ),
    _LOCKED: ("the database is locked by another program", True, "Try again in a moment."),
    _READ_ONLY: ("the database can only be read", False, ""),
    _UNAVAILABLE: ("the database cannot be reached", True, "Tell the user that the database is down."),
}

#: SQLite error names (https://www.sqlite.org/rescode.html); the longest matching prefix wins.
_SQLITE = {
    "SQLITE_CONSTRAINT_UNIQUE": "UNIQUE_CONSTRAINT",
    "SQLITE_CONSTRAINT_PRIMARYKEY": "UNIQUE_CONSTRAINT",
    "SQLITE_CONSTRAINT_ROWID": "UNIQUE_CONSTRAINT",
    "SQLITE_CONSTRAINT_FOREIGNKEY": "REFERENCE_CONSTRAINT",
    "SQLITE_CONSTRAINT_NOTNULL": "NOT_NULL",
    "SQLITE_CONSTRAINT": "CHECK",
    "SQLITE_MISMATCH": "INVALID_VALUE",
    "SQLITE_TOOBIG": "INVALID_VALUE",
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_INTERRUPT": "QUERY_TIMEOUT",
    "SQLITE_AUTH": "READ_ONLY_QUERY",
    "SQLITE_CANTOPEN": _UNAVAILABLE,
    "SQLITE_NOTADB": _UNAVAILABLE,
    "SQLITE_CORRUPT": _UNAVAILABLE,
    "SQLITE_IOERR": _UNAVAILABLE,
    "SQLITE_FULL": _UNAVAILABLE,
    "SQLITE_PERM": _UNAVAILABLE,
}
#: SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html); longest prefix wins.
_SQLSTATE = {
    "23505": "UNIQUE_CONSTRAINT",
    "23P01": "UNIQUE_CONSTRAINT",
    "23503": "REFERENCE_CONSTRAINT",
    "23001": "REFERENCE_CONSTRAINT",
    "23502": "NOT_NULL",
    "23514": "CHECK",
    "22": "INVALID_VALUE",
    "25006": _READ_ONLY,
    "40001": "CONCURRENT_UPDATE",
    "40P01": _LOCKED,
    "55P03": _LOCKED,
    "42501": "PERMISSION_DENIED",
    "57014": "QUERY_TIMEOUT",
    "57P": _UNAVAILABLE,
    "53": _UNAVAILABLE,
    "08": _UNAVAILABLE,
    "28": _UNAVAILABLE,
    "3D": _UNAVAILABLE,
}
#: MySQL and MariaDB error numbers (https://dev.mysql.com/doc/mysql-errors/8.4/en/).
_MYSQL = {
    **dict.fromkeys((1022, 1062, 1169, 1586), "UNIQUE_CONSTRAINT"),
    **dict.fromkeys((1216, 1217, 1451, 1452), "REFERENCE_CONSTRAINT"),
    **dict.fromkeys((1048, 1364), "NOT_NULL"),
    **dict.fromkeys((3819, 4025), "CHECK"),
    **dict.fromkeys((1264, 1265, 1292, 1366, 1406), "INVALID_VALUE"),
    1020: "CONCURRENT_UPDATE",
    **dict.fromkeys((1205, 1213), _LOCKED),
    **dict.fromkeys((1290, 1792, 1836), _READ_ONLY),
    **dict.fromkeys((1142, 1143, 1044, 1227), "PERMISSION_DENIED"),
    **dict.fromkeys((1317, 1969, 3024), "QUERY_TIMEOUT"),
    **dict.fromkeys((1040, 1045, 1049, 2002, 2003, 2005, 2006, 2013), _UNAVAILABLE),
}


def known(code: str, detail: str = "") -> ActionError:
    """Return the refusal of one of the well-known codes, with ``detail`` after its text."""
    text, retryable, suggestion = _KNOWN[code]
    return ActionError(
        code, f"{text}: {detail}" if detail else text, retryable=retryable, suggestion=suggestion
    )


def classify(error: BaseException) -> str:
    """Return the result code of a driver's error, or an empty string when it says nothing."""
    name = getattr(error, "sqlite_errorname", None)
    if isinstance(name, str):
        return _longest(_SQLITE, name)
    # MySQL's numbers come first: its SQLSTATE is 23000 for every constraint.
    number = error.args[0] if error.args else None
    if isinstance(number, int):
        return _MYSQL.get(number, "")
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return _longest(_SQLSTATE, state) if isinstance(state, str) else ""


def translate(
    error: SQLAlchemyError, secrets: Iterable[str] = (), visible: Iterable[str] = ()
) -> ActionError:
    """Turn an error of SQLAlchemy or a driver into a refusal.

    Args:
        error: what was raised.
        secrets: texts that must not appear, such as the URL's password.
        visible: column names of the entity at hand that may be named.
    """
    if isinstance(error, PoolTimeoutError):
        return known(_LOCKED, "all connections are busy")
    if not isinstance(error, DBAPIError) or error.orig is None:
        reason = type(error).__name__ if isinstance(error, InvalidRequestError) else "unknown database error"
        return ActionError("QUERY_FAILED", f"the database work failed ({reason})", retryable=None)
    origin = error.orig
    code = classify(origin)
    if not code and error.connection_invalidated:
        code = _UNAVAILABLE
    if code == "READ_ONLY_QUERY":
        return ActionError(code, "the query reads what it may not read")
    if code in {"UNIQUE_CONSTRAINT", "NOT_NULL"}:
        return known(code, _columns(origin, visible))
    if code == _UNAVAILABLE:
        return known(code, first_line(origin, secrets))
    if code in _KNOWN:
        return known(code)
    if type(origin).__name__ == "OperationalError" and not getattr(origin, "sqlite_errorname", None):
        return known(_UNAVAILABLE, first_line(origin, secrets))
    return ActionError("QUERY_FAILED", first_line(origin, secrets), retryable=None)


def first_line(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """Return the first line of a driver's text without secrets and without our internal names."""
    diagnosis = getattr(error, "diag", None)
    text = getattr(diagnosis, "message_primary", None) or ""
    if not text:
        text = str(error.args[1] if len(error.args) > 1 else error)
    text = re.sub(r"__cte\d+\b", "", text.strip().split("\n")[0])
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return text[:_TEXT_LIMIT] or type(error).__name__


def _columns(error: BaseException, visible: Iterable[str]) -> str:
    """Return the visible columns that a constraint error names, joined by commas."""
    diagnosis = getattr(error, "diag", None)
    parts = [str(error)]
    parts += [str(getattr(diagnosis, name, None) or "") for name in ("column_name", "message_detail")]
    # Values of the row may be quoted in the detail, so only the part before "=" can name columns.
    words = set(re.findall(r"\w+", " ".join(part.split("=")[0] for part in parts)))
    return ", ".join(sorted(words & set(visible)))


def _longest(table: dict[str, str], name: str) -> str:
    found = [prefix for prefix in table if name.startswith(prefix)]
    return table[max(found, key=len)] if found else ""
