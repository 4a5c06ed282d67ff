"""The plugin's table, and an artifact as a value."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from attrs import frozen
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Row,
    Table,
    Text,
    UniqueConstraint,
)

from wakeful.store.columns import UTCDateTime
from wakeful.types import Artifact, Lineage, Trust
from wakeful_spillover.handles import handle

#: The migrations that make the table.
LINEAGE = Lineage("spillover", ("wakeful_spillover:migrations",))

metadata = MetaData(
    naming_convention={"pk": "pk_%(table_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s"}
)
# Only so that the foreign key finds its table; the kernel makes it.
_conversation = Table("conversation", MetaData(), Column("id", Text, primary_key=True))


def _text(name: str, default: str | None = "") -> Column[str]:
    return Column(name, Text, nullable=False, server_default=default)


def _number(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


artifact = Table(
    "spillover_artifact",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("conversation_id", Text, ForeignKey(_conversation.c.id, ondelete="CASCADE"), nullable=False),
    _number("number"),
    _text("hash", None),
    _text("kind", None),
    _text("form", None),
    _text("action"),
    _text("output"),
    _text("name", None),
    _number("version"),
    _text("key"),
    _number("trust"),
    _text("source"),
    Column("size", BigInteger, nullable=False),
    Column("rows", Integer, nullable=True),
    _text("columns", "[]"),
    _text("path"),
    _text("media"),
    Column("content", Text, nullable=True),
    Column("ref", Text, nullable=True),
    Column("created_at", UTCDateTime, nullable=False),
    UniqueConstraint("conversation_id", "number", name="uq_spillover_artifact_number"),
    UniqueConstraint("conversation_id", "hash", name="uq_spillover_artifact_hash"),
    Index("ix_spillover_artifact_ref", "ref"),
    CheckConstraint("(content IS NULL) <> (ref IS NULL)", name="ck_spillover_artifact_content"),
)

#: Columns that are fields of :class:`Stored` as they are.
PLAIN = (
    *("number", "kind", "form", "action", "output", "name", "version", "key", "source", "size", "rows"),
    *("path", "media", "content", "ref", "created_at"),
)


@frozen
class Stored:
    """An artifact as it is stored.

    Args:
        number: of its conversation, from 1; its handle spells it.
        kind: ``table``, ``json``, ``text`` or ``media``.
        form: how its content is written: ``records`` (a JSON object on each line), ``json``, ``text`` or
            ``bytes``.
        action: tool name of what made it.
        output: name of the output.
        name: what made it, and when; that of the artifact that it replaced, if it did.
        version: 1, or more when an action replaced others under the same name.
        key: idempotency key of the call that made it.
        trust, source: of whatever gave the content; the worst.
        size: bytes of the content.
        rows: records of a table, lines of a text.
        columns: of a table: name and type, see :class:`wakeful.types.Spooled`.
        path: JSON path of the table in a JSON document; empty where the content is the table.
        media: media type.
        content: the content, or None if it is in the file store.
        ref: where it is in the file store.
        created_at: when.
        seq: sequence of the transcript row that shows it; 0 while its step is open.
    """

    number: int
    kind: str
    form: str
    action: str
    output: str
    name: str
    version: int
    key: str
    trust: Trust
    source: str
    size: int
    rows: int | None
    columns: tuple[tuple[str, str], ...]
    path: str
    media: str
    content: str | None
    ref: str | None
    created_at: datetime
    seq: int = 0

    @property
    def handle(self) -> str:
        """Its handle, without brackets."""
        return handle(self.number)

    @property
    def note(self) -> Artifact:
        """What results and rows remember of it."""
        rows = self.rows if self.kind == "table" else None
        return Artifact(self.handle, self.kind, self.action, self.size, rows, self.trust, self.version)


def load(row: Row[Any]) -> Stored:
    """Return the artifact of a row of the table."""
    values = row._mapping  # noqa: SLF001  (SQLAlchemy's public way to a row as a mapping)
    columns = tuple((name, kind) for name, kind in json.loads(values["columns"]))
    plain: dict[str, Any] = {name: values[name] for name in PLAIN}
    return Stored(**plain, columns=columns, trust=Trust(values["trust"]), seq=values.get("seq") or 0)
