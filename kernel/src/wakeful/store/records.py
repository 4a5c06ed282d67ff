"""The read side: runs, steps, calls and rows as values, for ``wakeful runs`` and whoever looks back.

Every function takes a connection and is meant for :meth:`wakeful.store.engine.Store.read`.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from attrs import AttrsInstance, fields
from sqlalchemy import ColumnElement, Connection, RowMapping, or_, select

from wakeful.store import tables as t
from wakeful.store.recorded import (
    ActionCallRecord,
    ConversationRecord,
    MessageRecord,
    ModelCallRecord,
    RunDetail,
    RunRecord,
    StepRecord,
)
from wakeful.types.enums import Disposition, RowKind, RunStatus, Trust
from wakeful.types.prompt import Usage
from wakeful.types.transcript import Item, load_item

__all__ = [
    "ActionCallRecord",
    "ConversationRecord",
    "MessageRecord",
    "ModelCallRecord",
    "RunDetail",
    "RunRecord",
    "StepRecord",
    "get_run",
    "list_conversations",
    "list_runs",
    "messages",
    "run_ids",
    "usage_of",
]

#: How many entries a list gives unless told otherwise.
DEFAULT_LIMIT = 50
#: Of the calls inside a call, a loop's for instance, so many are told of; there may be thousands.
INNER_CALLS = 100

R = TypeVar("R", bound=AttrsInstance)


def list_conversations(
    conn: Connection, *, agent: str | None = None, limit: int = DEFAULT_LIMIT
) -> tuple[ConversationRecord, ...]:
    """Return conversations, the one that changed last first."""
    c = t.conversation.c
    query = (
        select(t.conversation, (c.next_seq - 1).label("rows"))
        .order_by(c.updated_at.desc(), c.id)
        .limit(limit)
    )
    if agent is not None:
        query = query.where(c.agent == agent)
    return tuple(_make(ConversationRecord, row) for row in conn.execute(query).mappings())


def list_runs(
    conn: Connection,
    *,
    agent: str | None = None,
    conversation: str | None = None,
    status: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> tuple[RunRecord, ...]:
    """Return runs, the newest first.

    Args:
        conn: a connection.
        agent: only its runs.
        conversation: only the runs of this one.
        status: only runs that ended so.
        limit: how many at most.
    """
    c = t.run.c
    query = select(t.run).order_by(c.started_at.desc(), c.id.desc()).limit(limit)
    wanted: tuple[tuple[ColumnElement[Any], str | None], ...] = (
        (c.agent, agent),
        (c.conversation_id, conversation),
        (c.status, status),
    )
    for column, value in wanted:
        if value is not None:
            query = query.where(column == value)
    return tuple(_run(row) for row in conn.execute(query).mappings())


def run_ids(conn: Connection, limit: int = 500) -> tuple[str, ...]:
    """Return the ids of the newest runs, to find the one somebody may have meant."""
    query = select(t.run.c.id).order_by(t.run.c.started_at.desc(), t.run.c.id.desc()).limit(limit)
    return tuple(conn.execute(query).scalars())


def get_run(conn: Connection, run_id: str) -> RunDetail | None:
    """Return a run with its steps, its calls and the rows it wrote, or None."""
    found = conn.execute(select(t.run).where(t.run.c.id == run_id)).mappings().first()
    if found is None:
        return None
    run = _run(found)
    s, m, a = t.step.c, t.model_call.c, t.action_call.c
    steps = select(t.step).where(s.run_id == run_id).order_by(s.number)
    models = select(t.model_call).where(m.run_id == run_id).order_by(m.id)
    actions = (
        select(t.action_call)
        .where(a.run_id == run_id, or_(a.parent.is_(None), a.inner < INNER_CALLS))
        .order_by(a.step, a.index_, a.parent.is_not(None), a.inner)
    )
    tree = select(t.run.c.id).where(t.run.c.parent_run == run_id).cte("below", recursive=True)
    tree = tree.union_all(select(t.run.c.id).where(t.run.c.parent_run == tree.c.id))
    below = select(t.run).where(t.run.c.id.in_(select(tree.c.id))).order_by(t.run.c.started_at, t.run.c.id)
    return RunDetail(
        run,
        _epoch_reason(conn, run),
        tuple(_step(row) for row in conn.execute(steps).mappings()),
        tuple(_model_call(row) for row in conn.execute(models).mappings()),
        tuple(_action_call(row) for row in conn.execute(actions).mappings()),
        messages(conn, run.conversation, run=run_id),
        tuple(_run(row) for row in conn.execute(below).mappings()),
    )


def messages(
    conn: Connection, conversation: str, *, run: str | None = None, after: int = 0, limit: int | None = None
) -> tuple[MessageRecord, ...]:
    """Return transcript rows of a conversation in order.

    Args:
        conn: a connection.
        conversation: its id.
        run: only rows that this run wrote.
        after: only rows with a higher sequence.
        limit: how many at most; None for all.
    """
    c = t.message.c
    query = (
        select(t.message).where(c.conversation_id == conversation, c.seq > after).order_by(c.seq).limit(limit)
    )
    if run is not None:
        query = query.where(c.run_id == run)
    return tuple(_message(row) for row in conn.execute(query).mappings())


def _epoch_reason(conn: Connection, run: RunRecord) -> str:
    c = t.epoch.c
    query = select(c.reason).where(
        c.conversation_id == run.conversation, c.agent == run.agent, c.id == run.epoch
    )
    return conn.execute(query).scalar() or ""


def _make(record: type[R], row: RowMapping, **changed: object) -> R:
    """Build ``record`` from the columns of its fields' names; ``changed`` are those that differ."""
    names = [attribute.name for attribute in fields(record) if attribute.name not in changed]
    return record(**{name: row[name] for name in names}, **changed)


def usage_of(row: RowMapping) -> Usage:
    """Return the usage in the columns that run, step and model_call share."""
    return Usage(
        row["tokens_read"],
        row["tokens_write"],
        row["tokens_uncached"],
        row["tokens_output"],
        row["cost"],
        bool(row["reported"]),
        row["tokens_reasoning"],
        row["tokens_write_1h"],
    )


def _items(text: str) -> tuple[Item, ...]:
    return tuple(load_item(value) for value in json.loads(text) or ())


def _run(row: RowMapping) -> RunRecord:
    return _make(
        RunRecord,
        row,
        conversation=row["conversation_id"],
        status=RunStatus(row["status"]),
        disposition=Disposition(row["disposition"]),
        usage=usage_of(row),
    )


def _step(row: RowMapping) -> StepRecord:
    given, gave = json.loads(row["input"]), json.loads(row["output"])
    return _make(StepRecord, row, input=given, output=gave, usage=usage_of(row))


def _model_call(row: RowMapping) -> ModelCallRecord:
    prompt = json.loads(row["prompt"])
    return _make(ModelCallRecord, row, prompt=prompt, reply=_items(row["reply"]), usage=usage_of(row))


def _action_call(row: RowMapping) -> ActionCallRecord:
    return _make(
        ActionCallRecord,
        row,
        index=row["index_"],
        args=json.loads(row["args"]),
        reasons=tuple(tuple(reason) for reason in json.loads(row["reasons"])),
        result=None if row["result"] is None else json.loads(row["result"]),
    )


def _message(row: RowMapping) -> MessageRecord:
    return _make(
        MessageRecord,
        row,
        kind=RowKind(row["kind"]),
        items=_items(row["items"]),
        run=row["run_id"],
        trust=Trust(row["trust"]),
        meta=json.loads(row["meta"]),
    )
