"""Rules that people add with their decisions, and what channels have told people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "ap0002"
down_revision = "ap0001"
branch_labels = None
depends_on = None


def _text(name: str, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def upgrade() -> None:
    """Make the tables; a rule outlives the conversation that it came from."""
    op.create_table(
        "approvals_rule",
        sa.Column("number", sa.Integer, nullable=False),
        _text("agent"),
        _text("rule"),
        _text("request_id"),
        _text("added_by"),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        _text("removed_by", ""),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_approvals_rule"),
    )
    op.create_index("ix_approvals_rule_agent", "approvals_rule", ["agent"])
    op.create_table(
        "approvals_told",
        sa.Column("number", sa.Integer, nullable=False),
        _text("request_id"),
        _text("channel"),
        _text("status"),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_approvals_told"),
        sa.ForeignKeyConstraint(
            ["request_id"],
            ["approvals_request.id"],
            name="fk_approvals_told_request_id",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_approvals_told_request_id", "approvals_told", ["request_id"])
    op.create_index("ix_approvals_told_channel", "approvals_told", ["channel", "status"])


def downgrade() -> None:
    """Remove the tables."""
    op.drop_table("approvals_told")
    op.drop_table("approvals_rule")
