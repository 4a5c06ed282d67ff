"""The kernel's tables.

The classes are SQLModel models for reading and for tools; the lower-case names at the end are the same
tables as plain SQLAlchemy Core, which the loop writes with. JSON columns hold
``wakeful.types.canonical(...)``. Their migrations are in the distribution ``wakeful-migrations``.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, cast

from sqlalchemy import Boolean, Float, Index, Integer, MetaData, String, Table, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from wakeful.store import columns as c
from wakeful.types.enums import Disposition, RowKind, RunStatus, Trust

#: The kernel's own metadata: plugins keep theirs, so that checks compare each owner's tables alone.
kernel_metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

#: Where a step can be in its life; ``planned`` has its calls judged, ``closed`` has its rows written.
STEP_STATUSES = ("open", "replied", "planned", "closed", "failed", "cancelled")
#: Where a call can be in its life; ``intended`` is committed before the action runs.
CALL_STATUSES = (
    "refused",
    "denied",
    "held",
    "approved",
    "rejected",
    "executing",
    "intended",
    "done",
    "cancelled",
    "unknown",
)
#: Longest reaction, from the design: an emoji or its short name.
REACTION_LIMIT = 64


class KernelTable(SQLModel, registry=registry(metadata=kernel_metadata)):
    """Base of the kernel's tables."""

    metadata: ClassVar[MetaData] = kernel_metadata


class Conversation(KernelTable, table=True):
    """A lasting thread. ``next_seq`` is the number of the next row, taken by UPDATE … RETURNING."""

    __tablename__ = "conversation"
    __table_args__ = (Index(None, "updated_at"),)

    id: str = c.key()
    agent: str = c.text(None)
    user: str = c.text()
    next_seq: int = c.number(1)
    turns: int = c.number()
    secret: str = c.text(None)
    created_at: datetime = c.moment()
    updated_at: datetime = c.moment()


class Message(KernelTable, table=True):
    """One transcript row; appended, never changed. ``items`` is a JSON list of dumped items."""

    __tablename__ = "message"
    __table_args__ = (
        UniqueConstraint("conversation_id", "seq"),
        Index(None, "run_id"),
        c.one_of("kind", RowKind),
        c.one_of("trust", [int(trust) for trust in Trust]),
    )

    id: int | None = c.serial()
    conversation_id: str = c.text(None, refers="conversation.id")
    seq: int = c.number(None)
    kind: str = c.text(None)
    items: str = c.json("[]")
    run_id: str = c.text()
    turn: int = c.number()
    step: int = c.number()
    trust: int = c.number()
    source: str = c.text()
    meta: str = c.json()
    created_at: datetime = c.moment()


class Run(KernelTable, table=True):
    """One execution of an agent for one turn; the partial index allows one running per conversation."""

    __tablename__ = "run"
    __table_args__ = (
        Index(
            "uq_run_running",
            "conversation_id",
            unique=True,
            sqlite_where=sql("status = 'running'"),
            postgresql_where=sql("status = 'running'"),
        ),
        Index(None, "conversation_id", "started_at"),
        Index(None, "started_at"),
        c.one_of("status", RunStatus),
        c.one_of("disposition", Disposition),
    )

    id: str = c.key()
    conversation_id: str = c.text(None, refers="conversation.id")
    agent: str = c.text(None)
    user: str = c.text()
    turn: int = c.number()
    model: str = c.text()
    status: str = c.text(None)
    disposition: str = c.text("notify_user")
    reaction: str | None = c.optional(String(REACTION_LIMIT))
    text: str = c.text()
    error: str = c.text()
    priority: str = c.text("interactive")
    fence: int = c.number()
    epoch: int = c.number()
    context: str = c.json("[]")
    limits: str = c.json()
    options: str = c.json()
    parent_run: str | None = c.optional()
    parent_step: int | None = c.optional(Integer)
    steps: int = c.number()
    tokens_read: int = c.number()
    tokens_write: int = c.number()
    tokens_uncached: int = c.number()
    tokens_output: int = c.number()
    tokens_reasoning: int = c.number()
    tokens_write_1h: int = c.number()
    reported: int = c.number(1)
    cost: float | None = c.optional(Float)
    started_at: datetime = c.moment()
    ended_at: datetime | None = c.moment(nullable=True)


class Step(KernelTable, table=True):
    """One step of a run: what went in, what came out, what it cost."""

    __tablename__ = "step"
    __table_args__ = (c.one_of("status", STEP_STATUSES),)

    run_id: str = c.part(refers="run.id")
    number: int = c.part(kind=Integer)
    type: str = c.text()
    name: str = c.text()
    status: str = c.text("open")
    parent_step: int | None = c.optional(Integer)
    input: str = c.json()
    output: str = c.json()
    payload_before: str | None = c.optional()
    payload_after: str | None = c.optional()
    tokens_read: int = c.number()
    tokens_write: int = c.number()
    tokens_uncached: int = c.number()
    tokens_output: int = c.number()
    tokens_reasoning: int = c.number()
    tokens_write_1h: int = c.number()
    reported: int = c.number(1)
    cost: float | None = c.optional(Float)
    error: str = c.text()
    started_at: datetime = c.moment()
    ended_at: datetime | None = c.moment(nullable=True)


class ModelCall(KernelTable, table=True):
    """One request to a model: its fingerprint, what it was made of, its reply as JSON, its usage."""

    __tablename__ = "model_call"
    __table_args__ = (Index(None, "run_id", "step"),)

    id: int | None = c.serial()
    run_id: str = c.text(None, refers="run.id")
    step: int = c.number()
    kind: str = c.text()
    model: str = c.text()
    fingerprint: str = c.text()
    prompt: str = c.json()
    reply: str = c.json("null")
    stop: str = c.text()
    tokens_read: int = c.number()
    tokens_write: int = c.number()
    tokens_uncached: int = c.number()
    tokens_output: int = c.number()
    tokens_reasoning: int = c.number()
    tokens_write_1h: int = c.number()
    reported: int = c.number(1)
    cost: float | None = c.optional(Float)
    error: str = c.text()
    started_at: datetime = c.moment()
    ended_at: datetime | None = c.moment(nullable=True)


class ActionCall(KernelTable, table=True):
    """One execution of an action; ``key`` is its idempotency key, ``result_seq`` its transcript row.

    ``parent`` is the key of the call that it is a part of, e.g. of a loop; ``provenance`` says where
    arguments came from that were taken from somewhere.
    """

    __tablename__ = "action_call"
    __table_args__ = (Index(None, "run_id", "step"), c.one_of("status", CALL_STATUSES))

    key: str = c.key()
    run_id: str = c.text(None, refers="run.id")
    step: int = c.number()
    index_: int = c.number()
    inner: int = c.number()
    parent: str | None = c.optional()
    call_id: str = c.text()
    tool: str = c.text()
    action: str = c.text()
    args: str = c.json()
    provenance: str = c.json("[]")
    verdict: str = c.text()
    reasons: str = c.json("[]")
    status: str = c.text(None)
    success: bool | None = c.optional(Boolean)
    code: str = c.text()
    result: str | None = c.optional()
    result_ref: str | None = c.optional()
    result_seq: int | None = c.optional(Integer)
    approval_id: str | None = c.optional()
    puts: str = c.json("[]")
    started_at: datetime | None = c.moment(nullable=True)
    ended_at: datetime | None = c.moment(nullable=True)


class PluginState(KernelTable, table=True):
    """What a plugin saved for a conversation, as JSON."""

    __tablename__ = "plugin_state"

    conversation_id: str = c.part(refers="conversation.id")
    plugin: str = c.part()
    key: str = c.part()
    value: str = c.json("null")


class Declaration(KernelTable, table=True):
    """A prefix by its digest: tools, sections and decisions as JSON, stored once for all epochs."""

    __tablename__ = "declaration"

    digest: str = c.key()
    body: str = c.json()


class Epoch(KernelTable, table=True):
    """The life of one prefix in one conversation.

    ``sent`` is the fingerprint of its last request, ``configuration`` the digest of what it began under.
    """

    __tablename__ = "epoch"

    conversation_id: str = c.part(refers="conversation.id")
    agent: str = c.part()
    id: int = c.part(kind=Integer)
    reason: str = c.text()
    declaration: str = c.text(None, refers="declaration.digest")
    sent: str | None = c.optional()
    configuration: str = c.text()
    created_at: datetime = c.moment()


class Rewrite(KernelTable, table=True):
    """One rewrite of what an agent is sent of a conversation; ``changes`` as JSON, later ones count."""

    __tablename__ = "rewrite"

    conversation_id: str = c.part(refers="conversation.id")
    agent: str = c.part()
    number: int = c.part(kind=Integer)
    run_id: str = c.text()
    reason: str = c.text()
    share: float = Field(default=0.0, nullable=False, sa_column_kwargs={"server_default": sql("0")})
    changes: str = c.json("[]")
    created_at: datetime = c.moment()


def table_of(model: type[KernelTable]) -> Table:
    """Return the table of a model, to write with."""
    return cast("Table", model.__table__)  # type: ignore[attr-defined]  # set by SQLModel's metaclass


conversation = table_of(Conversation)
message = table_of(Message)
run = table_of(Run)
step = table_of(Step)
model_call = table_of(ModelCall)
action_call = table_of(ActionCall)
plugin_state = table_of(PluginState)
declaration = table_of(Declaration)
epoch = table_of(Epoch)
rewrite = table_of(Rewrite)
