"""Artifacts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "sp0001"
down_revision = None
branch_labels = None
depends_on = None


def _text(name: str, default: str | None = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def upgrade() -> None:
    """Make the table; its rows go with their conversation."""
    op.create_table(
        "spillover_artifact",
        sa.Column("id", sa.Integer, nullable=False),
        _text("conversation_id", None),
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
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.Integer, nullable=True),
        _text("columns", "[]"),
        _text("path"),
        _text("media"),
        sa.Column("content", sa.Text, nullable=True),
        sa.Column("ref", sa.Text, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_spillover_artifact"),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversation.id"],
            name="fk_spillover_artifact_conversation_id",
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint("conversation_id", "number", name="uq_spillover_artifact_number"),
        sa.UniqueConstraint("conversation_id", "hash", name="uq_spillover_artifact_hash"),
        sa.CheckConstraint("(content IS NULL) <> (ref IS NULL)", name="ck_spillover_artifact_content"),
    )
    op.create_index("ix_spillover_artifact_ref", "spillover_artifact", ["ref"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("spillover_artifact")
