"""What ``wakeful taint`` does."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import asdict, frozen
from sqlalchemy import select

from wakeful.cli.exits import Exit
from wakeful.cli.output import note, say, say_json, say_table
from wakeful.cli.records import read
from wakeful.config import load_config
from wakeful.store.engine import Store
from wakeful.store.records import list_conversations
from wakeful.store.tables import action_call, message, run
from wakeful.system import SystemClock
from wakeful.types import NotFoundError, Trust, nearest
from wakeful_taint.reset import PLUGIN, Reset, dropped_before, reset

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Conversations that are looked at to find the one that somebody may have meant.
NEAR = 500
#: Characters of a token, a rule of thumb for English.
CHARACTERS = 4


@frozen
class Tainted:
    """A row that is not trusted; ``left_out`` by a reset."""

    row: int
    turn: int
    at: datetime
    trust: str
    source: str
    left_out: bool


@frozen
class Changed:
    """A call on which the plugin had something to say; one of a sub-agent has its name."""

    call: str
    at: datetime
    agent: str
    action: str
    verdict: str
    reason: str


def show_conversation(file: Path, conversation: str, *, as_json: bool) -> int:
    """Print what tainted a conversation and which calls that changed."""
    found = read(file, lambda conn: _look(conn, conversation))
    if found is None or isinstance(found, list):
        raise _unknown(conversation, found or [])
    rows, calls = found
    if as_json:
        document = {"rows": [asdict(each) for each in rows], "calls": [asdict(each) for each in calls]}
        say_json({"conversation": conversation, **document})
        return Exit.OK
    if not rows:
        note(f"nothing has tainted conversation {conversation}")
        return Exit.OK
    lines = [
        (str(each.row), str(each.turn), f"{each.at:%Y-%m-%d %H:%M}", each.trust, each.source, _left(each))
        for each in rows
    ]
    say_table(("row", "turn", "at (UTC)", "trust", "came from", ""), lines)
    for each in calls:
        by = f"{each.agent}: " if each.agent else ""
        say(f"{each.at:%Y-%m-%d %H:%M} {by}{each.action} ({each.call}): {each.verdict}. {each.reason}")
    if not calls:
        say("no call was held back for it")
    return Exit.OK


def _left(row: Tainted) -> str:
    return "left out by a reset" if row.left_out else ""


def reset_conversation(file: Path, conversation: str, *, as_json: bool) -> int:
    """Start a clean epoch of a conversation and print what it leaves out and what it costs."""
    if read(file, lambda conn: conn is not None) is None:
        raise _unknown(conversation, [])
    url = load_config(file).store.url

    async def work() -> Reset | list[str]:
        clock = SystemClock()
        store = await Store.open(url, create=False, clock=clock)
        try:
            done = await store.write(lambda conn: reset(conn, conversation, clock.now()), durable=True)
            return await store.read(_known) if done is None else done
        finally:
            await store.close()

    done = asyncio.run(work())
    if isinstance(done, list):
        raise _unknown(conversation, done)
    tokens = done.characters // CHARACTERS
    if as_json:
        say_json({"conversation": conversation, "left_out": list(done.dropped), "tokens_anew": tokens})
    elif done.dropped:
        say(f"{len(done.dropped)} rows are left out from now on: {', '.join(map(str, done.dropped))}")
        say(f"the next request is a new prefix: at most {tokens:,} tokens of history are sent uncached once")
    else:
        note(f"nothing has tainted conversation {conversation}; nothing was changed")
    return Exit.OK


def _look(conn: Connection, conversation: str) -> tuple[list[Tainted], list[Changed]] | list[str]:
    known = _known(conn)
    if conversation not in known:
        return known
    gone = dropped_before(conn, conversation)
    columns = (message.c.seq, message.c.turn, message.c.created_at, message.c.trust, message.c.source)
    rows = select(*columns).where(message.c.conversation_id == conversation, message.c.trust > 0)
    tainted = [
        Tainted(seq, turn, at, Trust(trust).label, source, seq in gone)
        for seq, turn, at, trust, source in conn.execute(rows.order_by(message.c.seq))
    ]
    own = select(run.c.id).where(run.c.conversation_id == conversation)
    tree = own.cte("tree", recursive=True)
    tree = tree.union_all(select(run.c.id).where(run.c.parent_run == tree.c.id))
    c = action_call.c
    calls = (
        select(c.key, c.started_at, run.c.agent, run.c.parent_run, c.action, c.reasons)
        .join(run, run.c.id == c.run_id)
        .where(run.c.id.in_(select(tree.c.id)))
        .order_by(run.c.started_at, c.run_id, c.step, c.index_, c.inner)
    )
    changed = [
        Changed(key, at, agent if parent else "", action, verdict, reason)
        for key, at, agent, parent, action, reasons in conn.execute(calls)
        for plugin, verdict, reason in json.loads(reasons or "[]")
        if plugin == PLUGIN and verdict != "allow"
    ]
    return tainted, changed


def _known(conn: Connection) -> list[str]:
    return [each.id for each in list_conversations(conn, limit=NEAR)]


def _unknown(conversation: str, known: list[str]) -> NotFoundError:
    hint = nearest(conversation, known) if known else "; there are none yet"
    return NotFoundError(f"there is no conversation {conversation!r}{hint}")
