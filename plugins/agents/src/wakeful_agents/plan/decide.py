"""Deciding about a plan in the store, without opening the agents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve
from sqlalchemy import select, update

from wakeful.config import AppConfig, load_config
from wakeful.store.engine import Store
from wakeful.store.tables import conversation, plugin_state
from wakeful.system import SystemClock
from wakeful.types import ConfigError, NotFoundError, Problem, canonical, nearest
from wakeful_agents.plan.state import APPROVED, AWAITING, KEY, NAMESPACE, NONE, Planned

if TYPE_CHECKING:
    from sqlalchemy import Connection

Change = Callable[[Planned], Planned]
#: Ids that are looked through for the one that was meant.
_KNOWN = 200


def approved(now: Planned, by: str, seen: str | None = None) -> Planned:
    """Return the plan as approved.

    Args:
        now: the plan as it stands.
        by: who approves it.
        seen: fingerprint of the plan that this person saw; None = whichever waits.

    Raises:
        NotFoundError: none waits, or another than was seen.
    """
    if now.status != AWAITING:
        raise NotFoundError(f"no plan waits for a person; the plan is: {now.status}")
    if seen is not None and seen.strip().casefold() != now.fingerprint:
        what = f"the plan that waits now is {now.fingerprint}, not {seen!r}"
        raise NotFoundError(f"the approval is void: {what}; nothing was approved, look at it again")
    return evolve(now, status=APPROVED, by=by)


def withdrawn(now: Planned) -> Planned:
    """Return no plan.

    Raises:
        NotFoundError: there is none.
    """
    if now.status == NONE:
        raise NotFoundError("there is no plan to withdraw")
    return Planned()


async def decide(file: Path, thread: str, change: Change | None, by: str) -> Planned:
    """Return the plan of a conversation, changed if ``change`` says so.

    Args:
        file: the configuration.
        thread: id of the conversation.
        change: what a person decided; None looks only.
        by: who; one of the agent's approvers, where it names any.

    Raises:
        NotFoundError: no such conversation, no plan to decide about, or another decision was faster.
        ConfigError: this person may not decide.
        StoreError: the database cannot be used.
    """
    config = load_config(file)
    store = await Store.open(config.store.url, clock=SystemClock())
    try:
        if change is None:
            return await store.read(lambda conn: _plan(conn, thread)[0])

        def write(conn: Connection) -> Planned:
            now, written = _plan(conn, thread)
            _permit(config, conn, thread, by)
            after = change(now)
            same = (
                plugin_state.c.conversation_id == thread,
                plugin_state.c.plugin == NAMESPACE,
                plugin_state.c.key == KEY,
                plugin_state.c.value == written,
            )
            done = conn.execute(update(plugin_state).where(*same).values(value=canonical(after.dump())))
            if done.rowcount != 1:
                raise NotFoundError("the plan changed meanwhile; look at it again")
            return after

        return await store.write(write, durable=True)
    finally:
        await store.close()


def _plan(conn: Connection, thread: str) -> tuple[Planned, str]:
    """Return the plan and its text in the store."""
    query = select(plugin_state.c.value).where(
        plugin_state.c.conversation_id == thread,
        plugin_state.c.plugin == NAMESPACE,
        plugin_state.c.key == KEY,
    )
    written = conn.execute(query).scalar()
    if written is not None:
        return Planned.load(json.loads(written)), written
    if conn.execute(select(conversation.c.id).where(conversation.c.id == thread)).first() is None:
        known = conn.execute(select(conversation.c.id).limit(_KNOWN)).scalars()
        raise NotFoundError(f"there is no conversation {thread!r}{nearest(thread, known, limit=3)}")
    return Planned(), ""


def _permit(config: AppConfig, conn: Connection, thread: str, by: str) -> None:
    agent = conn.execute(select(conversation.c.agent).where(conversation.c.id == thread)).scalar()
    known = config.agents.get(str(agent))
    people = known.approvers if known is not None else ()
    if people and by not in people:
        what = f"{by!r} is not one of the approvers: {', '.join(people)}; say --as"
        raise ConfigError([Problem(f"agents.{agent}.approvers", what)])
