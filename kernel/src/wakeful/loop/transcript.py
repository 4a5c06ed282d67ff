"""What is stored of a conversation, as a run's first view has it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from attrs import evolve
from sqlalchemy import bindparam, select

from wakeful.loop.below import load_beneath
from wakeful.loop.codec import load_items
from wakeful.loop.rewrites import with_rewrites
from wakeful.store.prepared import Prepared
from wakeful.store.tables import message, plugin_state
from wakeful.types import Json, Kept, Row, RowKind, Run, Trust

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from wakeful.loop.agent import BuiltAgent

# Built once: a statement that is built for every turn costs more than running it.
_ROW_COLUMNS = ("seq", "kind", "items", "run_id", "turn", "step", "trust", "source", "meta")
_ROWS = Prepared(
    select(*(message.c[name] for name in _ROW_COLUMNS))
    .where(message.c.conversation_id == bindparam("id_"))
    .order_by(message.c.seq)
)
_STATE = Prepared(
    select(plugin_state.c.plugin, plugin_state.c.key, plugin_state.c.value).where(
        plugin_state.c.conversation_id == bindparam("id_")
    )
)


def with_transcript(conn: Connection, view: Run, agent: BuiltAgent) -> Run:
    """Return ``view`` with what is stored of the conversation: rows, kept state, plugin state, rewrites.

    Args:
        conn: a connection.
        view: the run.
        agent: whose plugins' rewrites count, and whose judges want to know what was called before.
    """
    rows = load_rows(conn, view.conversation)
    state: dict[str, dict[str, Json]] = {}
    for plugin, key, value in _STATE.all(conn, {"id_": view.conversation}):
        state.setdefault(plugin, {})[key] = json.loads(value)
    judged = agent.plugins.impls("policy_verdict")  # nobody else asks
    beneath = load_beneath(conn, view.conversation) if judged else ()
    view = with_rewrites(conn, evolve(view, rows=rows, state=state, beneath=beneath), agent.rewriters)
    kept = tuple(
        Kept(row.meta["after"], row.meta["hashes"], row.text)
        for row in rows
        if row.kind is RowKind.STATE
        and row.meta.get("epoch") == view.epoch.id
        and row.meta.get("agent", view.agent.name) == view.agent.name
        and not view.rewrites.drops(row.seq)  # what a person left out is sent in no other way
    )
    return evolve(view, kept=kept)


def load_rows(conn: Connection, conversation_id: str) -> tuple[Row, ...]:
    """Return all rows of a conversation in order."""
    return tuple(
        Row(seq, RowKind(kind), load_items(items), run_id, turn, step, Trust(trust), source, json.loads(meta))
        for seq, kind, items, run_id, turn, step, trust, source, meta in _ROWS.all(
            conn, {"id_": conversation_id}
        )
    )
