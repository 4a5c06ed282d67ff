"""Settings of the plugin: which database, what of it is shown, and the limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from attrs import Attribute, field, frozen
from attrs import validators as valid

from wakeful.types import Trust

_TRUST = tuple(trust.label for trust in Trust)


def _column_globs(_: object, attribute: Attribute[tuple[str, ...]], value: Sequence[str]) -> None:
    wrong = [item for item in value if "." not in item]
    if wrong:
        message = f"{attribute.name}: {wrong[0]!r} must have the form 'table.column', e.g. '*.{wrong[0]}'"
        raise ValueError(message)


@frozen
class RecordsSettings:
    """Settings of ``[plugins.records]``. Globs match names regardless of case."""

    url: str = field(
        repr=False,
        metadata={"help": "SQLAlchemy URL; a relative SQLite path starts at the folder of wakeful.toml"},
    )
    hidden_tables: tuple[str, ...] = field(
        default=(), metadata={"help": "globs of tables and views that do not exist for the agent"}
    )
    hidden_columns: tuple[str, ...] = field(
        default=(),
        validator=_column_globs,
        metadata={"help": "globs of `table.column` that do not exist for the agent"},
    )
    read_only: bool = field(
        default=False, metadata={"help": "declare no action that creates, updates or deletes"}
    )
    writable_tables: tuple[str, ...] = field(
        default=("*",), metadata={"help": "globs of tables that may be written"}
    )
    max_rows: int = field(
        default=100,
        validator=[valid.ge(1), valid.le(10_000)],
        metadata={"help": "most rows of one result"},
    )
    timeout_s: float = field(
        default=10.0,
        converter=float,
        validator=[valid.gt(0), valid.le(3600)],
        metadata={"help": "seconds after which work in the database is stopped"},
    )
    version_column: str = field(
        default="",
        metadata={"help": "optimistic lock: update and delete must give this column's value as read"},
    )
    query_functions: tuple[str, ...] = field(
        default=(), metadata={"help": "SQL functions queries may call beside the built-in harmless ones"}
    )
    output_trust: str = field(
        default="trusted",
        validator=valid.in_(_TRUST),
        metadata={"help": "trust of what the database holds: `trusted`, `semi_trusted` or `untrusted`"},
    )

    @property
    def trust(self) -> Trust:
        """``output_trust`` as the enum."""
        return Trust[self.output_trust.upper()]


def matches(name: str, globs: Iterable[str]) -> bool:
    """Return whether any glob matches ``name``, regardless of case."""
    return any(fnmatchcase(name.casefold(), glob.casefold()) for glob in globs)
