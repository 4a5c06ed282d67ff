"""Notes."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "nt0001"
down_revision = None
branch_labels = None
depends_on = None


def _text(name: str, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def _time(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "notes_note",
        _text("id"),
        sa.Column("number", sa.Integer, nullable=False),
        _text("agent"),
        _text("user"),
        _text("kind"),
        _text("text"),
        _text("hash"),
        _text("status"),
        sa.Column("trust", sa.Integer, nullable=False),
        _text("source", ""),
        sa.Column("row", sa.Integer, nullable=False),
        _text("conversation"),
        _text("run"),
        _text("key"),
        _time("created_at"),
        _time("lapses_at"),
        _time("decided_at", nullable=True),
        _text("decided_by", ""),
        _text("superseded_by", ""),
        sa.PrimaryKeyConstraint("id", name="pk_notes_note"),
        sa.UniqueConstraint("key", name="uq_notes_note_key"),
    )
    op.create_index("ix_notes_note_scope", "notes_note", ["user", "agent", "status"])
    op.create_index("ix_notes_note_run", "notes_note", ["run"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("notes_note")
