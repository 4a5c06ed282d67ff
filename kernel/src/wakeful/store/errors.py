"""Turning the drivers' errors into one clear line: which database, why, what to do.

Failed constraints are not turned: ``sqlalchemy.exc.IntegrityError`` means something to the caller.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from wakeful.store.urls import Target
from wakeful.types.errors import StoreError

#: SQLite's primary result codes (https://sqlite.org/rescode.html) that a user can act on.
_SQLITE = {
    3: "permission was denied; check the rights of the file and its folder",
    5: "is locked by another process (waited {timeout:g} s); wait for it or end it, then try again",
    6: "is locked by another connection (waited {timeout:g} s); try again",
    8: "is read-only; {readonly}",
    10: "could not be read or written (input/output error); check the disk",
    11: "is damaged; restore it from a backup (`sqlite3 FILE .recover` may save what is left)",
    13: "cannot grow: the disk is full{bound}; free some space, then try again",
    14: "cannot be opened; check that it is a file and that its folder exists and may be written",
    26: "is not a SQLite database; name another file, or move this one away to start afresh",
}
#: The same for PostgreSQL's SQLSTATE codes (https://www.postgresql.org/docs/current/errcodes-appendix.html).
_POSTGRESQL = {
    "28P01": "the password was refused; check user and password in the url",
    "28000": "the user was refused; check the user in the url and the server's pg_hba.conf",
    "3D000": "there is no such database; create it first (`createdb NAME`)",
    "42501": "the user lacks a right; grant it, or connect as the owner",
    "53100": "the server's disk is full; free some space, then try again",
    "53300": "the server has no free connection; close some, or raise max_connections",
    "25P03": "the server undid a transaction in which this process stood still for {timeout:g} s; try again",
    "40P01": "two transactions waited for each other, and this one was undone; try again",
    "25006": "is read-only; connect to the primary server",
    "55P03": "is locked by another process (waited {timeout:g} s); wait for it or end it, then try again",
    "57014": "an answer took longer than allowed and was cancelled; try again",
    "57P01": "the server ended the connection; try again once it is up",
    "57P02": "the server crashed and ended the connection; try again once it is up",
    "57P03": "the server is starting or stopping; try again in a moment",
}
#: What libpq says when it cannot even log in; such errors carry no SQLSTATE.
_LOGIN = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "the database system is": "57P03",
    "too many clients": "53300",
}


def translate(error: BaseException, target: Target) -> StoreError | None:
    """Return the error a user can act on, or None when ``error`` is not about the database's state.

    Args:
        error: whatever a statement or a connection raised.
        target: the database it is about.
    """
    if isinstance(error, IntegrityError):
        return None
    if isinstance(error, PoolTimeoutError):
        return StoreError(f"{target.label}: no free connection within {target.timeout:g} s; try again")
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return _sqlite(cause, target)
    if cause is not None and type(cause).__module__.partition(".")[0] == "psycopg":
        return _postgresql(cause, target)
    return None


def _sqlite(error: sqlite3.Error, target: Target) -> StoreError | None:
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte is the primary code, the rest says more than a user can use.
    text = _SQLITE.get(code & 0xFF) if code is not None else None
    if text is None:
        return None
    readonly = (
        "take mode=ro out of the url to write to it"
        if target.mode == "ro"
        else "check the rights of the file and its folder"
    )
    bound = (
        f" or its bound of {target.max_pages} pages (max_page_count) is reached" if target.max_pages else ""
    )
    return StoreError(f"{target.label} {text.format(timeout=target.timeout, readonly=readonly, bound=bound)}")


def _postgresql(error: BaseException, target: Target) -> StoreError | None:
    state = getattr(error, "sqlstate", None)
    said = str(error).strip()
    if state is None:
        state = next((code for text, code in _LOGIN.items() if text in said), None)
    if state is None and 'database "' in said and "does not exist" in said:
        state = "3D000"
    text = _POSTGRESQL.get(state or "")
    if text is not None:
        return StoreError(f"{target.label}: {text.format(timeout=target.timeout)}")
    if "invalid connection option" in said:
        return StoreError(f"{target.label}: {said.splitlines()[0]}; take it out of the url")
    if state is None and type(error).__name__ in {"OperationalError", "ConnectionTimeout"}:
        why = said.splitlines()[0] if said else "no answer"
        return StoreError(
            f"{target.label}: the server cannot be reached ({why}); check host, port and server"
        )
    return None
