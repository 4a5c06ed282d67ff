"""Requests, and attempts to decide them that were refused."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "ap0001"
down_revision = None
branch_labels = None
depends_on = None


def _text(name: str, default: str | None = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def _maybe(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=True)


def _moment(name: str, *, nullable: bool = True) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _of_conversation(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["conversation_id"], ["conversation.id"], name=f"fk_{table}_conversation_id", ondelete="CASCADE"
    )


def upgrade() -> None:
    """Make the tables; their rows go with their conversation."""
    op.create_table(
        "approvals_request",
        sa.Column("number", sa.Integer, nullable=False),
        _text("id", None),
        _text("conversation_id", None),
        _text("run_id", None),
        sa.Column("step", sa.Integer, nullable=False),
        _text("key", None),
        _text("kind", None),
        _text("agent", None),
        _text("asker"),
        _text("action", None),
        _text("args", None),
        _text("digest", None),
        _text("reason"),
        _text("basis"),
        _text("provenance", "[]"),
        _text("expected", "{}"),
        _text("priority"),
        _text("assignee"),
        sa.Column("asker_decides", sa.Boolean, nullable=False, server_default=sa.false()),
        _text("status", "pending"),
        _text("decided_by"),
        _maybe("decided_args"),
        _maybe("answer"),
        _moment("created_at", nullable=False),
        _moment("expires_at"),
        _moment("decided_at"),
        sa.PrimaryKeyConstraint("number", name="pk_approvals_request"),
        _of_conversation("approvals_request"),
        sa.UniqueConstraint("id", name="uq_approvals_request_id"),
        sa.UniqueConstraint("key", "kind", name="uq_approvals_request_key"),
    )
    op.create_index("ix_approvals_request_status", "approvals_request", ["status", "agent"])
    op.create_table(
        "approvals_attempt",
        sa.Column("number", sa.Integer, nullable=False),
        _maybe("conversation_id"),
        _text("request_id", None),
        _text("tried_by"),
        _text("wanted", None),
        _text("reason", None),
        _moment("at", nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_approvals_attempt"),
        _of_conversation("approvals_attempt"),
    )
    op.create_index("ix_approvals_attempt_request_id", "approvals_attempt", ["request_id"])


def downgrade() -> None:
    """Remove the tables."""
    op.drop_table("approvals_attempt")
    op.drop_table("approvals_request")
