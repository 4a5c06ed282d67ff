"""Rewrites of what is sent, calls inside calls, and what a caller set for one run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "k0005"
down_revision = "k0004"
branch_labels = None
depends_on = None


def _text(name: str, default: str | None = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def upgrade() -> None:
    """Make the table of rewrites and the columns."""
    op.create_table(
        "rewrite",
        _text("conversation_id", None),
        _text("agent", None),
        sa.Column("number", sa.Integer, nullable=False),
        _text("run_id"),
        _text("reason"),
        sa.Column("share", sa.Float, nullable=False, server_default=sa.text("0")),
        _text("changes", "[]"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "agent", "number", name="pk_rewrite"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversation.id"], name="fk_rewrite_conversation_id"),
    )
    op.add_column("action_call", sa.Column("parent", sa.Text, nullable=True))
    op.add_column("run", _text("options", "{}"))
    op.add_column("inbox", _text("options", "{}"))


def downgrade() -> None:
    """Drop them."""
    op.drop_column("inbox", "options")
    op.drop_column("run", "options")
    op.drop_column("action_call", "parent")
    op.drop_table("rewrite")
