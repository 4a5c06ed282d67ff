"""Column types and shorthands that every table of the store is made of, plugins' tables included.

They behave alike on SQLite and PostgreSQL: JSON is TEXT in its canonical spelling, a closed vocabulary
is a string with a CHECK, a moment is aware and in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import CheckConstraint, DateTime, Dialect, ForeignKey, Text
from sqlalchemy import text as sql
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field


class UTCDateTime(TypeDecorator[datetime]):
    """A moment in UTC: takes aware datetimes and gives aware ones back, whatever the database keeps.

    SQLite keeps no offset and gives back naive values; PostgreSQL gives them in the session's zone.

    Raises:
        ValueError: for a naive datetime, whose moment nobody can know.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return ``value`` in UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; the store takes aware datetimes only")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return what the database gave as an aware datetime in UTC."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def key() -> Any:
    """Return a text column that is the primary key, or a part of it."""
    return Field(sa_type=Text, primary_key=True)


def serial() -> Any:
    """Return an integer primary key that the database counts up."""
    return Field(default=None, primary_key=True)


def text(default: str | None = "", *, refers: str | None = None) -> Any:
    """Return a text column that is never null.

    Args:
        default: the value of rows that do not say; None means they must.
        refers: ``table.column`` that a value must exist in.
    """
    args = [ForeignKey(refers)] if refers else []
    if default is None:
        return Field(sa_type=Text, nullable=False, sa_column_args=args)
    return Field(
        default=default,
        sa_type=Text,
        nullable=False,
        sa_column_args=args,
        sa_column_kwargs={"server_default": default},
    )


def json(default: str = "{}") -> Any:
    """Return a column of JSON in its canonical spelling, ``default`` as such text."""
    return text(default)


def number(default: int | None = 0) -> Any:
    """Return an integer column that is never null; ``default`` None means a value must be given."""
    if default is None:
        return Field(nullable=False)
    return Field(default=default, nullable=False, sa_column_kwargs={"server_default": sql(str(default))})


def part(*, refers: str | None = None, kind: Any = Text) -> Any:
    """Return a column that is one part of a primary key, perhaps referring to another table."""
    args = [ForeignKey(refers)] if refers else []
    return Field(
        sa_type=kind, primary_key=True, sa_column_args=args, sa_column_kwargs={"autoincrement": False}
    )


def optional(kind: Any = Text) -> Any:
    """Return a column that may be null."""
    return Field(default=None, sa_type=kind, nullable=True)


def moment(*, nullable: bool = False) -> Any:
    """Return a column of moments in UTC."""
    return optional(UTCDateTime) if nullable else Field(sa_type=UTCDateTime, nullable=False)


def one_of(column: str, values: Iterable[object], name: str | None = None) -> CheckConstraint:
    """Return the CHECK, named after the column, that keeps ``column`` to ``values``."""
    listed = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=name or column.rstrip("_"))
