"""The kernel's tables."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "k0001"
down_revision = None
branch_labels = None
depends_on = None


def _text(name: str, default: str | None = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def _number(name: str, default: int | None = 0) -> sa.Column[int]:
    given = None if default is None else sa.text(str(default))
    return sa.Column(name, sa.Integer, nullable=False, server_default=given)


def _maybe(name: str, kind: Any = sa.Text) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def _moment(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _tokens() -> list[sa.Column[Any]]:
    counts: list[sa.Column[Any]] = [
        _number(f"tokens_{kind}") for kind in ("read", "write", "uncached", "output")
    ]
    return [*counts, _maybe("cost", sa.Float)]


def _fk(table: str, column: str, refers: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [refers], name=f"fk_{table}_{column}")


def _pk(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=f"pk_{table}")


def _in(table: str, column: str, *values: str | int) -> sa.CheckConstraint:
    listed = ", ".join(repr(value) for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=f"ck_{table}_{column}")


def upgrade() -> None:
    """Make every table of the first release."""
    _conversations()
    _runs()
    _journal()
    _prefixes()


def _conversations() -> None:
    op.create_table(
        "conversation",
        _text("id", None),
        _text("agent", None),
        _text("user"),
        _number("next_seq", 1),
        _number("turns"),
        _text("secret", None),
        _moment("created_at"),
        _moment("updated_at"),
        _pk("conversation", "id"),
    )
    op.create_index("ix_conversation_updated_at", "conversation", ["updated_at"])
    op.create_table(
        "message",
        sa.Column("id", sa.Integer, nullable=False),
        _text("conversation_id", None),
        _number("seq", None),
        _text("kind", None),
        _text("items", "[]"),
        _text("run_id"),
        _number("turn"),
        _number("step"),
        _number("trust"),
        _text("source"),
        _text("meta", "{}"),
        _moment("created_at"),
        _pk("message", "id"),
        sa.UniqueConstraint("conversation_id", "seq", name="uq_message_conversation_id_seq"),
        _in(
            "message",
            "kind",
            *("user", "inbound", "steer", "assistant", "result", "late-result", "state", "summary", "note"),
        ),
        _in("message", "trust", 0, 1, 2),
        _fk("message", "conversation_id", "conversation.id"),
    )
    op.create_index("ix_message_run_id", "message", ["run_id"])
    op.create_table(
        "plugin_state",
        _text("conversation_id", None),
        _text("plugin", None),
        _text("key", None),
        _text("value", "null"),
        _pk("plugin_state", "conversation_id", "plugin", "key"),
        _fk("plugin_state", "conversation_id", "conversation.id"),
    )


def _runs() -> None:
    op.create_table(
        "run",
        _text("id", None),
        _text("conversation_id", None),
        _text("agent", None),
        _text("user"),
        _number("turn"),
        _text("model"),
        _text("status", None),
        _text("disposition", "notify_user"),
        _maybe("reaction", sa.String(64)),
        _text("text"),
        _text("error"),
        _text("priority", "interactive"),
        _number("fence"),
        _number("epoch"),
        _text("context", "[]"),
        _text("limits", "{}"),
        _maybe("parent_run"),
        _maybe("parent_step", sa.Integer),
        _number("steps"),
        *_tokens(),
        _moment("started_at"),
        _moment("ended_at", nullable=True),
        _pk("run", "id"),
        _in(
            "run",
            "status",
            *("running", "completed", "failed", "cancelled", "limit_reached"),
            *("awaiting_approval", "awaiting_feedback"),
        ),
        _in("run", "disposition", "notify_user", "silent_log", "react_only"),
        _fk("run", "conversation_id", "conversation.id"),
    )
    running = sa.text("status = 'running'")
    op.create_index(
        "uq_run_running",
        "run",
        ["conversation_id"],
        unique=True,
        sqlite_where=running,
        postgresql_where=running,
    )
    op.create_index("ix_run_conversation_id_started_at", "run", ["conversation_id", "started_at"])
    op.create_index("ix_run_started_at", "run", ["started_at"])


def _journal() -> None:
    op.create_table(
        "step",
        _text("run_id", None),
        _number("number", None),
        _text("type"),
        _text("name"),
        _text("status", "open"),
        _maybe("parent_step", sa.Integer),
        _text("input", "{}"),
        _text("output", "{}"),
        _maybe("payload_before"),
        _maybe("payload_after"),
        *_tokens(),
        _text("error"),
        _moment("started_at"),
        _moment("ended_at", nullable=True),
        _pk("step", "run_id", "number"),
        _in("step", "status", "open", "replied", "planned", "closed", "failed", "cancelled"),
        _fk("step", "run_id", "run.id"),
    )
    op.create_table(
        "model_call",
        sa.Column("id", sa.Integer, nullable=False),
        _text("run_id", None),
        _number("step"),
        _text("kind"),
        _text("model"),
        _text("fingerprint"),
        _text("reply", "null"),
        _text("stop"),
        *_tokens(),
        _text("error"),
        _moment("started_at"),
        _moment("ended_at", nullable=True),
        _pk("model_call", "id"),
        _fk("model_call", "run_id", "run.id"),
    )
    op.create_index("ix_model_call_run_id_step", "model_call", ["run_id", "step"])
    op.create_table(
        "action_call",
        _text("key", None),
        _text("run_id", None),
        _number("step"),
        _number("index_"),
        _number("inner"),
        _text("call_id"),
        _text("tool"),
        _text("action"),
        _text("args", "{}"),
        _text("verdict"),
        _text("reasons", "[]"),
        _text("status", None),
        _maybe("success", sa.Boolean),
        _text("code"),
        _maybe("result"),
        _maybe("result_ref"),
        _maybe("result_seq", sa.Integer),
        _maybe("approval_id"),
        _moment("started_at", nullable=True),
        _moment("ended_at", nullable=True),
        _pk("action_call", "key"),
        _in(
            "action_call",
            "status",
            *("refused", "denied", "held", "approved", "rejected", "executing"),
            *("intended", "done", "cancelled", "unknown"),
        ),
        _fk("action_call", "run_id", "run.id"),
    )
    op.create_index("ix_action_call_run_id_step", "action_call", ["run_id", "step"])


def _prefixes() -> None:
    op.create_table("declaration", _text("digest", None), _text("body", "{}"), _pk("declaration", "digest"))
    op.create_table(
        "epoch",
        _text("conversation_id", None),
        _text("agent", None),
        _number("id", None),
        _text("reason"),
        _text("declaration", None),
        _maybe("sent"),
        _moment("created_at"),
        _pk("epoch", "conversation_id", "agent", "id"),
        _fk("epoch", "conversation_id", "conversation.id"),
        _fk("epoch", "declaration", "declaration.digest"),
    )


def downgrade() -> None:
    """Drop them all."""
    for table in (
        *("epoch", "declaration", "action_call", "model_call", "step", "run"),
        *("plugin_state", "message", "conversation"),
    ):
        op.drop_table(table)
