"""Opening a turn, or taking up a parked run: one transaction that gives the run its first view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen
from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from wakeful.loop.agent import BuiltAgent, changes
from wakeful.loop.codec import (
    dump_fragments,
    dump_limits,
    load_declared,
    load_sent,
)
from wakeful.loop.prefix import changed, owner
from wakeful.loop.statements import append_rows, guard
from wakeful.loop.transcript import with_transcript
from wakeful.store.prepared import Prepared
from wakeful.store.tables import conversation, declaration, epoch, run
from wakeful.types import (
    ConversationBusyError,
    Epoch,
    Fragment,
    Json,
    Row,
    RowKind,
    Run,
    RunStatus,
    Sent,
    Text,
    Trust,
    canonical,
    clean_text,
)

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


# Built once: a statement that is built for every turn costs more than running it.
_NEXT_TURN = Prepared(
    update(conversation)
    .where(conversation.c.id == bindparam("id_"))
    .values(turns=conversation.c.turns + 1)
    .returning(conversation.c.turns, conversation.c.secret)
)
_ADD_CONVERSATION = Prepared(insert(conversation))
_ADD_RUN = Prepared(insert(run))
_LAST_EPOCH = Prepared(
    select(epoch.c.id, epoch.c.reason, epoch.c.declaration, epoch.c.sent, epoch.c.configuration)
    .where(epoch.c.conversation_id == bindparam("id_"), epoch.c.agent == bindparam("agent_"))
    .order_by(epoch.c.id.desc())
    .limit(1)
)
_LAST_SENT = (
    select(epoch.c.sent)
    .where(epoch.c.conversation_id == bindparam("id_"), epoch.c.agent == bindparam("agent_"))
    .where(epoch.c.id <= bindparam("number_"), epoch.c.sent.is_not(None))
    .order_by(epoch.c.id.desc())
    .limit(1)
)
_DECLARATION = select(declaration.c.body).where(declaration.c.digest == bindparam("digest_"))
_KNOWN = Prepared(select(declaration.c.digest).where(declaration.c.digest == bindparam("digest_")))
# Conversations that begin at the same time may store the same one.
_ADD_DECLARATION = {
    "sqlite": sqlite.insert(declaration).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(declaration).on_conflict_do_nothing(),
}
_ADD_EPOCH = insert(epoch)


@frozen
class Opening:
    """What starts a turn.

    ``above`` is the run that delegated it, if it is a sub-agent's; then ``trust`` and ``source`` say how far
    its text may be believed.
    """

    run_id: str
    conversation: str
    user: str
    text: str
    secret: str
    now: datetime
    options: Mapping[str, Mapping[str, Json]] = field(factory=dict)
    priority: str = "interactive"
    above: Run | None = None
    trust: Trust = Trust.TRUSTED
    source: str = ""


@frozen
class Opened:
    """A run's first view, and whether its epoch is new."""

    run: Run
    new_epoch: bool


def open_turn(conn: Connection, agent: BuiltAgent, opening: Opening) -> Opened:
    """Create what is missing, append the user's row, start the run and settle its epoch.

    Raises:
        ConversationBusyError: another run of the conversation is active.
    """
    above = opening.above
    if above is not None:
        guard(conn, above)  # a process that has lost the run above starts nothing below it
    turn, secret = _next_turn(conn, agent, opening)
    current, sent, new_epoch = _epoch(conn, agent, opening)
    view = Run(
        id=opening.run_id,
        agent=agent.view,
        conversation=opening.conversation,
        user=opening.user,
        turn=turn,
        step=0,
        now=opening.now,
        secret=secret,
        status=RunStatus.RUNNING,
        epoch=current,
        previous=sent,
        limits=agent.view.limits,
        options=opening.options,
        parent=above.id if above else "",
        given_words=words_of(opening.options),
        priority=opening.priority,
    )
    _start(conn, view, above)
    said = (Text("user", clean_text(opening.text)),)
    row = Row(0, RowKind.USER, said, view.id, turn)
    if above is not None:  # not the user's own words
        row = Row(0, RowKind.NOTE, said, view.id, turn, trust=opening.trust, source=opening.source)
    append_rows(conn, view, [row], opening.now)
    return Opened(with_transcript(conn, view, agent), new_epoch)


def _next_turn(conn: Connection, agent: BuiltAgent, opening: Opening) -> tuple[int, str]:
    """Return the number of the turn and the conversation's secret."""
    found = _NEXT_TURN.first(conn, {"id_": opening.conversation})
    if found is not None:
        return found.turns, found.secret
    values = {
        "id": opening.conversation,
        "agent": agent.name,
        "user": opening.user,
        "turns": 1,
        "secret": opening.secret,
        "created_at": opening.now,
        "updated_at": opening.now,
    }
    _ADD_CONVERSATION.run(conn, values)
    return 1, opening.secret


def words_of(options: Mapping[str, Mapping[str, Json]]) -> str:
    """Return the user's words that the run above handed down."""
    return str(options.get("", {}).get("words", ""))


def _start(conn: Connection, view: Run, above: Run | None) -> None:
    values = {
        "id": view.id,
        "conversation_id": view.conversation,
        "agent": view.agent.name,
        "user": view.user,
        "turn": view.turn,
        "model": view.agent.model,
        "status": view.status.value,
        "priority": view.priority,
        "epoch": view.epoch.id,
        "limits": dump_limits(view.limits),
        "options": canonical(view.options),
        "parent_run": above.id if above else None,
        "parent_step": above.step if above else None,
        "started_at": view.now,
    }
    try:
        _ADD_RUN.run(conn, values)
    except IntegrityError as error:
        raise busy(view.conversation) from error


def busy(conversation_id: str) -> ConversationBusyError:
    """Return the error for a conversation that another run holds."""
    return ConversationBusyError(
        f"conversation {conversation_id!r} has an active run in another process; "
        "wait for it, or end it with 'wakeful runs cancel'"
    )


def _epoch(conn: Connection, agent: BuiltAgent, opening: Opening) -> tuple[Epoch, Sent | None, bool]:
    last = _LAST_EPOCH.first(conn, {"id_": opening.conversation, "agent_": agent.name})
    if last is not None and last.declaration == agent.declared_digest:
        sent = load_sent(last.sent) or last_sent(conn, opening.conversation, agent.name, last.id)
        return Epoch(last.id, last.reason, agent.declared), sent, False
    reason, number, change, sent = "first turn", 1, None, None
    if last is not None:
        body = conn.execute(_DECLARATION, {"digest_": last.declaration}).scalar_one()
        old, number = load_declared(body), last.id + 1
        reason = changes(old, agent.declared)
        configured = last.configuration != agent.configuration
        change = changed(old, agent.declared, reason, configured=configured)
        change = evolve(change, plugin=owner(agent, change.section))
        sent = load_sent(last.sent) or last_sent(conn, opening.conversation, agent.name, last.id)
    if _KNOWN.first(conn, {"digest_": agent.declared_digest}) is None:
        body = {"digest": agent.declared_digest, "body": agent.declared.dump()}
        conn.execute(_ADD_DECLARATION[conn.dialect.name], body)
    values = {
        "conversation_id": opening.conversation,
        "agent": agent.name,
        "id": number,
        "reason": reason,
        "declaration": agent.declared_digest,
        "configuration": agent.configuration,
        "created_at": opening.now,
    }
    conn.execute(_ADD_EPOCH, values)
    return Epoch(number, reason, agent.declared, change), sent, True


def last_sent(conn: Connection, conversation_id: str, agent: str, number: int) -> Sent | None:
    """Return the last fingerprint of an epoch, or of one before it: what begins is compared with that."""
    values = {"id_": conversation_id, "agent_": agent, "number_": number}
    return load_sent(conn.execute(_LAST_SENT, values).scalar()) if number > 1 else None


def store_context(conn: Connection, view: Run, fragments: tuple[Fragment, ...]) -> None:
    """Keep what was retrieved at turn start, so that a resumed run sees the same.

    Raises:
        FencedError: another process took the run over.
    """
    guard(conn, view)
    conn.execute(update(run).where(run.c.id == view.id).values(context=dump_fragments(fragments)))
