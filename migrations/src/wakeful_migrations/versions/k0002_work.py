"""Work items, what is to be submitted, and inputs that wait; what an execution put beside its result."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "k0002"
down_revision = "k0001"
branch_labels = None
depends_on = None

_HELD = sa.text("status IN ('running', 'cancelling')")


def _text(name: str, default: str | None = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0"))


def _moment(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def upgrade() -> None:
    """Make the tables of work."""
    _items()
    _boxes()
    op.add_column("action_call", _text("puts", "[]"))


def _items() -> None:
    statuses = "'queued', 'running', 'cancelling', 'done', 'failed', 'cancelled'"
    op.create_table(
        "work_item",
        _text("id", None),
        _text("kind", None),
        _text("key", None),
        _text("payload", "{}"),
        _number("priority"),
        _moment("not_before"),
        _text("status", "queued"),
        _text("owner"),
        _text("submitter"),
        _moment("lease_until", nullable=True),
        _number("attempts"),
        _text("error"),
        _moment("created_at"),
        _moment("updated_at"),
        sa.PrimaryKeyConstraint("id", name="pk_work_item"),
        sa.CheckConstraint(f"status IN ({statuses})", name="ck_work_item_status"),
    )
    op.create_index(
        "uq_work_item_held", "work_item", ["key"], unique=True, sqlite_where=_HELD, postgresql_where=_HELD
    )
    op.create_index("ix_work_item_queue", "work_item", ["status", "priority", "not_before"])
    op.create_index("ix_work_item_key", "work_item", ["key", "status", "priority", "created_at"])


def _boxes() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer, nullable=False),
        _text("item", "{}"),
        _number("sent"),
        _moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
    )
    op.create_index("ix_outbox_sent_id", "outbox", ["sent", "id"])
    op.create_table(
        "inbox",
        sa.Column("id", sa.Integer, nullable=False),
        _text("conversation_id", None),
        _text("agent", None),
        _text("user"),
        _text("text"),
        _text("run_id", None),
        _number("taken"),
        _moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_inbox"),
    )
    op.create_index("ix_inbox_conversation_id_id", "inbox", ["conversation_id", "id"])
    op.create_index("ix_inbox_run_id", "inbox", ["run_id"])
