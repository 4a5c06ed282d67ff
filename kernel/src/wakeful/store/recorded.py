"""What the store remembers of a run, as values; :mod:`wakeful.store.records` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from attrs import frozen

from wakeful.types.enums import Disposition, RowKind, RunStatus, Trust
from wakeful.types.json import Json
from wakeful.types.prompt import Usage
from wakeful.types.transcript import Item


@frozen
class ConversationRecord:
    """A conversation: who talks, how many turns, how many rows, since when and until when."""

    id: str
    agent: str
    user: str
    turns: int
    rows: int
    created_at: datetime
    updated_at: datetime


@frozen
class RunRecord:
    """One run as it is stored; ``ended_at`` is None while it runs or waits for a person."""

    id: str
    conversation: str
    agent: str
    user: str
    turn: int
    model: str
    status: RunStatus
    disposition: Disposition
    reaction: str | None
    text: str
    error: str
    priority: str
    epoch: int
    parent_run: str | None
    parent_step: int | None
    steps: int
    usage: Usage
    started_at: datetime
    ended_at: datetime | None


@frozen
class StepRecord:
    """One step of a run; ``input`` and ``output`` say what it saw and gave."""

    number: int
    type: str
    name: str
    status: str
    parent_step: int | None
    input: Json
    output: Json
    usage: Usage
    error: str
    started_at: datetime
    ended_at: datetime | None


@frozen
class ModelCallRecord:
    """One request to a model: what for, its fingerprint, what it was made of, its reply, what it used.

    ``prompt`` is what :func:`wakeful.loop.prefix.described` says of the request.
    """

    step: int
    kind: str
    model: str
    fingerprint: str
    prompt: Json
    reply: tuple[Item, ...]
    stop: str
    usage: Usage
    error: str
    started_at: datetime
    ended_at: datetime | None


@frozen
class ActionCallRecord:
    """One execution of an action.

    Args:
        key: its idempotency key ``<run>/<step>/<index>[/<inner>]``.
        step, index, inner: its place in the run.
        call_id, tool, action, args: what was asked.
        verdict, reasons: how it was judged: (plugin, verdict, reason) of each that had an opinion.
        status: see :data:`wakeful.store.tables.CALL_STATUSES`.
        success, code: how it ended; None and empty while it has not.
        result: the raw result, or None; a large one is in the file store under ``result_ref``.
        result_seq: the transcript row that answers the call.
        approval_id: the request to a person, if there was one.
    """

    key: str
    step: int
    index: int
    inner: int
    call_id: str
    tool: str
    action: str
    args: Json
    verdict: str
    reasons: tuple[tuple[str, ...], ...]
    status: str
    success: bool | None
    code: str
    result: Json
    result_ref: str | None
    result_seq: int | None
    approval_id: str | None
    started_at: datetime | None
    ended_at: datetime | None


@frozen
class MessageRecord:
    """One transcript row with the moment it was written."""

    seq: int
    kind: RowKind
    items: tuple[Item, ...]
    run: str
    turn: int
    step: int
    trust: Trust
    source: str
    meta: Mapping[str, Json]
    created_at: datetime


@frozen
class RunDetail:
    """A run with everything that is stored about it.

    ``epoch_reason`` says why its prefix began; ``below`` are the runs of sub-agents that it
    started, and of those that they started.
    """

    run: RunRecord
    epoch_reason: str = ""
    steps: tuple[StepRecord, ...] = ()
    model_calls: tuple[ModelCallRecord, ...] = ()
    action_calls: tuple[ActionCallRecord, ...] = ()
    rows: tuple[MessageRecord, ...] = ()
    below: tuple[RunRecord, ...] = ()
