"""The plugin's table, and a note as a value."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import fields, frozen
from sqlalchemy import Column, Index, Integer, MetaData, Row, Table, Text, UniqueConstraint

from wakeful.store.columns import UTCDateTime
from wakeful.types import Lineage, Trust

#: The migrations that make the table.
LINEAGE = Lineage("notes", ("wakeful_notes:migrations",))

metadata = MetaData(naming_convention={"pk": "pk_%(table_name)s"})


def _text(name: str, default: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=False, server_default=default)


# No foreign keys: a note outlives the conversation that it was written in.
note = Table(
    "notes_note",
    metadata,
    Column("id", Text, primary_key=True),
    Column("number", Integer, nullable=False),
    _text("agent"),
    _text("user"),
    _text("kind"),
    _text("text"),
    _text("hash"),
    _text("status"),
    Column("trust", Integer, nullable=False),
    _text("source", ""),
    Column("row", Integer, nullable=False),
    _text("conversation"),
    _text("run"),
    _text("key"),
    Column("created_at", UTCDateTime, nullable=False),
    Column("lapses_at", UTCDateTime, nullable=False),
    Column("decided_at", UTCDateTime, nullable=True),
    _text("decided_by", ""),
    _text("superseded_by", ""),
    UniqueConstraint("key", name="uq_notes_note_key"),
    Index("ix_notes_note_scope", "user", "agent", "status"),
    Index("ix_notes_note_run", "run"),
)


class Status(StrEnum):
    """Where a note stands."""

    PENDING = "pending"
    """Written after outside text was read; not read back before a person confirms it."""
    PROVISIONAL = "provisional"
    """Read back until it lapses."""
    CONFIRMED = "confirmed"
    """A person has confirmed it; read back until a person drops it."""
    SUPERSEDED = "superseded"
    """A newer note stands in its place."""
    DROPPED = "dropped"
    """A person has dropped it."""


@frozen
class Note:
    """A note as it is stored.

    Args:
        id: by which people name it; made from the key of the call, so that it is the same in a replay.
        number: its place among the notes of its agent and user, from 1.
        agent, user: whose it is; nobody else's runs see it.
        kind: ``preference`` or ``context``.
        text: one line.
        hash: sha256 of the text.
        status: see :class:`Status`.
        trust: how far its text may be believed.
        source: where the worst of what its run had read came from; empty for a clean run.
        row: sequence of the row that it came from; 0 for a clean run.
        conversation, run, key: the call that wrote it.
        created_at: when it was written.
        lapses_at: until when it is read back unless somebody confirms it.
        decided_at, decided_by: when it was confirmed or dropped, and by whom.
        superseded_by: id of the note in its place.
    """

    id: str
    number: int
    agent: str
    user: str
    kind: str
    text: str
    hash: str
    status: Status
    trust: Trust
    source: str
    row: int
    conversation: str
    run: str
    key: str
    created_at: datetime
    lapses_at: datetime
    decided_at: datetime | None = None
    decided_by: str = ""
    superseded_by: str = ""

    def live(self, now: datetime) -> bool:
        """Return whether it is read back."""
        return self.status is Status.CONFIRMED or (self.status is Status.PROVISIONAL and now < self.lapses_at)

    def stands(self, now: datetime) -> str:
        """Return the word for where it stands; ``lapsed`` is one."""
        lapsed = self.status is Status.PROVISIONAL and not self.live(now)
        return "lapsed" if lapsed else self.status.value

    def values(self) -> dict[str, Any]:
        """Return the row of the table."""
        row = {each.name: getattr(self, each.name) for each in fields(Note)}
        return row | {"status": self.status.value, "trust": int(self.trust)}


def load(row: Row[Any]) -> Note:
    """Return the note of a row of the table."""
    values = {column.name: row._mapping[column.name] for column in note.c}  # noqa: SLF001  # SQLAlchemy's public way
    return Note(**{**values, "status": Status(values["status"]), "trust": Trust(values["trust"])})
