"""The plugin's tables, and a request as a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import frozen
from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    UniqueConstraint,
    false,
    select,
)

from wakeful.store.columns import UTCDateTime
from wakeful.types import Json, Lineage

#: The migrations that make the tables.
LINEAGE = Lineage("approvals", ("wakeful_policy.approvals:migrations",))

metadata = MetaData(
    naming_convention={"pk": "pk_%(table_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s"}
)
# Only so that the foreign key finds its table; the kernel makes it.
_conversation = Table("conversation", MetaData(), Column("id", Text, primary_key=True))


def _text(name: str, default: str | None = "") -> Column[str]:
    return Column(name, Text, nullable=False, server_default=default)


def _maybe(name: str) -> Column[str]:
    return Column(name, Text, nullable=True)


def _moment(name: str, *, nullable: bool = True) -> Column[datetime]:
    return Column(name, UTCDateTime, nullable=nullable)


def _of_conversation(*, nullable: bool) -> Column[str]:
    return Column(
        "conversation_id", Text, ForeignKey(_conversation.c.id, ondelete="CASCADE"), nullable=nullable
    )


request = Table(
    "approvals_request",
    metadata,
    Column("number", Integer, primary_key=True),
    _text("id", None),
    _of_conversation(nullable=False),
    _text("run_id", None),
    Column("step", Integer, nullable=False),
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
    Column("asker_decides", Boolean, nullable=False, server_default=false()),
    _text("status", "pending"),
    _text("decided_by"),
    _maybe("decided_args"),
    _maybe("answer"),
    _moment("created_at", nullable=False),
    _moment("expires_at"),
    _moment("decided_at"),
    UniqueConstraint("id", name="uq_approvals_request_id"),
    UniqueConstraint("key", "kind", name="uq_approvals_request_key"),
    Index("ix_approvals_request_status", "status", "agent"),
)
attempt = Table(
    "approvals_attempt",
    metadata,
    Column("number", Integer, primary_key=True),
    _of_conversation(nullable=True),
    _text("request_id", None),
    _text("tried_by"),
    _text("wanted", None),
    _text("reason", None),
    _moment("at", nullable=False),
    Index("ix_approvals_attempt_request_id", "request_id"),
)
rule = Table(
    "approvals_rule",
    metadata,
    Column("number", Integer, primary_key=True),
    _text("agent", None),
    _text("rule", None),
    _text("request_id", None),
    _text("added_by", None),
    _moment("added_at", nullable=False),
    _text("removed_by"),
    _moment("removed_at"),
    Index("ix_approvals_rule_agent", "agent"),
)
told = Table(
    "approvals_told",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("request_id", Text, ForeignKey(request.c.id, ondelete="CASCADE"), nullable=False),
    _text("channel", None),
    _text("status", None),
    _moment("at", nullable=False),
    Index("ix_approvals_told_request_id", "request_id"),
    Index("ix_approvals_told_channel", "channel", "status"),
)


@frozen
class Stored:
    """A request as it is stored.

    Args:
        number: counts up over all requests; a channel that remembers the last one sees what is new.
        id: of the request.
        conversation, run, step, key: the call that it is about; requests of one step are one card.
        kind: ``approval``, ``draft``, ``question`` or ``outcome``.
        agent: whose call it is.
        asker: the user whose run it is; may be empty.
        action: tool name.
        args: the exact arguments.
        digest: sha256 over the canonical arguments.
        reason: why a person is asked; with a judge's assessment, if there is one.
        basis: digest of the rules that matched.
        provenance: where each value came from, see :func:`wakeful_policy.approvals.origins.origins`.
        expected: JSON schema of the response.
        priority: of the run.
        assignee: who is to decide, beside the approvers; may be empty.
        asker_decides: whether the asking user may decide too.
        status: ``pending``, ``approved``, ``rejected``, ``answered``, ``expired`` or ``void``.
        decided_by, decided_args, answer, decided_at: how it was settled.
        created_at, expires_at: when; None = never.
    """

    number: int
    id: str
    conversation: str
    run: str
    step: int
    key: str
    kind: str
    agent: str
    asker: str
    action: str
    args: Json
    digest: str
    reason: str
    basis: str
    provenance: Json
    expected: Json
    priority: str
    assignee: str
    asker_decides: bool
    status: str
    decided_by: str
    decided_args: Json
    answer: Json
    created_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None

    @property
    def card(self) -> str:
        """The card that it is shown on: one for each step."""
        return f"{self.run}/{self.step}"

    @property
    def given(self) -> Json:
        """The arguments as they run: edited, if a person did."""
        return self.args if self.decided_args is None else self.decided_args


def requests() -> Select[Any]:
    """Return the query for all requests, oldest first."""
    return select(request).order_by(request.c.number)


def one(request_id: str) -> Select[Any]:
    """Return the query for one request."""
    return select(request).where(request.c.id == request_id)


def load(row: Mapping[str, Any]) -> Stored:
    """Return the request of a row of the table."""
    values = dict(row)
    values["conversation"], values["run"] = values.pop("conversation_id"), values.pop("run_id")
    for name in ("args", "provenance", "expected", "decided_args", "answer"):
        values[name] = None if values[name] is None else json.loads(values[name])
    return Stored(**values)
