"""Runs as they are stored: taken up again, taken back for their drafts, or looked at."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from wakeful.loop.agent import BuiltAgent
from wakeful.loop.codec import load_declared, load_fragments, load_sent
from wakeful.loop.opening import busy, last_sent, words_of
from wakeful.loop.outcomes import load_outcomes, load_within
from wakeful.loop.transcript import with_transcript
from wakeful.store.records import usage_of
from wakeful.store.tables import conversation, declaration, epoch, run
from wakeful.types import Epoch, Json, Limits, NotFoundError, Run, RunStatus, Sent

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping


def take_up(conn: Connection, agent: BuiltAgent, run_id: str, now: datetime) -> Run:
    """Take a run over from whoever had it, and return its view, with the epoch it had.

    The fence rises, so that a stalled process that had the run before can no longer write.

    Raises:
        NotFoundError: it has ended.
        ConversationBusyError: another run of the conversation is active.
    """
    found = conn.execute(select(run).where(run.c.id == run_id)).mappings().one()
    status = RunStatus(found["status"])
    if not status.parked and status is not RunStatus.RUNNING:
        raise NotFoundError(f"run {run_id} is {status.value}; it has ended and cannot be resumed")
    return _fenced(conn, agent, found, now, RunStatus.RUNNING)


def take_back(conn: Connection, agent: BuiltAgent, run_id: str, now: datetime) -> Run:
    """Return the view of a run that has ended, for carrying out what it left; the fence rises."""
    found = conn.execute(select(run).where(run.c.id == run_id)).mappings().one()
    return _fenced(conn, agent, found, now, RunStatus(found["status"]))


def _fenced(conn: Connection, agent: BuiltAgent, found: RowMapping, now: datetime, status: RunStatus) -> Run:
    same = (run.c.id == found["id"], run.c.status == found["status"], run.c.fence == found["fence"])
    fenced = update(run).where(*same).values(status=status.value, fence=found["fence"] + 1)
    try:
        if conn.execute(fenced).rowcount != 1:
            raise busy(found["conversation_id"])
    except IntegrityError as error:
        raise busy(found["conversation_id"]) from error
    return stored_view(conn, agent, found, now, found["fence"] + 1)


def stored_run(
    conn: Connection, find: Callable[[str], BuiltAgent], run_id: str, now: datetime
) -> tuple[BuiltAgent, Run]:
    """Return a run as it is stored, with its agent, for looking at it only."""
    found = conn.execute(select(run).where(run.c.id == run_id)).mappings().one()
    agent = find(found["agent"])
    return agent, stored_view(conn, agent, found, now)


def stored_view(conn: Connection, agent: BuiltAgent, found: RowMapping, now: datetime, fence: int = 0) -> Run:
    """Return a run as its row has it, as one that is running; with another fence if one is given."""
    query = select(conversation.c.secret).where(conversation.c.id == found["conversation_id"])
    secret = conn.execute(query).scalar_one()
    current, sent = _stored_epoch(conn, dict(found))
    options = json.loads(found["options"])
    view = Run(
        id=found["id"],
        agent=agent.view,
        conversation=found["conversation_id"],
        user=found["user"],
        turn=found["turn"],
        step=found["steps"],
        now=now,
        secret=secret,
        status=RunStatus.RUNNING,
        epoch=current,
        previous=sent,
        context=load_fragments(found["context"]),
        outcomes=load_outcomes(conn, found["id"]),
        within=load_within(conn, found["id"]),
        usage=usage_of(found),
        limits=Limits(**json.loads(found["limits"])),
        options=options,
        parent=found["parent_run"] or "",
        given_words=words_of(options),
        fence=fence or found["fence"],
        priority=found["priority"],
    )
    return with_transcript(conn, view, agent)


def _stored_epoch(conn: Connection, found: Mapping[str, Json]) -> tuple[Epoch, Sent | None]:
    query = select(epoch.c.id, epoch.c.reason, epoch.c.sent, declaration.c.body).where(
        epoch.c.conversation_id == found["conversation_id"],
        epoch.c.agent == found["agent"],
        epoch.c.id == found["epoch"],
        declaration.c.digest == epoch.c.declaration,
    )
    row = conn.execute(query).one()
    sent = load_sent(row.sent) or last_sent(conn, found["conversation_id"], found["agent"], row.id)
    return Epoch(row.id, row.reason, load_declared(row.body)), sent
