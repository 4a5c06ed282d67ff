"""Which conversation keeps which content of the file store, and forgetting a conversation with all it has."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Executable, delete, exists, insert, literal, select

from wakeful.store import columns as c
from wakeful.store.files import GRACE_S
from wakeful.store.tables import KernelTable, action_call, conversation, kernel_metadata, run, table_of
from wakeful.store.work import work_item
from wakeful.types.enums import RunStatus
from wakeful.types.errors import ConversationBusyError

if TYPE_CHECKING:
    from wakeful.store.engine import Store


class Content(KernelTable, table=True):
    """A conversation keeps a content; without such a row a content is nobody's and may be removed."""

    __tablename__ = "content"

    conversation_id: str = c.part(refers="conversation.id")
    ref: str = c.part()


content = table_of(Content)


def keep(conversation_id: str, ref: str) -> Executable:
    """Return the statement by which a conversation keeps a content; for the transaction that refers to it."""
    mine = (content.c.conversation_id == conversation_id) & (content.c.ref == ref)
    values = select(literal(conversation_id), literal(ref)).where(~exists().where(mine))
    return insert(content).from_select(["conversation_id", "ref"], values)


def kept(conn: Connection) -> set[str]:
    """Return the references of all contents that a conversation keeps."""
    return set(conn.execute(select(content.c.ref).distinct()).scalars())


def forget(conn: Connection, conversation_id: str) -> frozenset[str] | None:
    """Delete a conversation with everything that belongs to it; None if there is no such conversation.

    The conversations of sub-agents that its runs delegated to belong to it. Rows of plugins go with it where
    their tables say ``ON DELETE CASCADE``.

    Returns:
        The references of contents that nobody keeps any more.

    Raises:
        ConversationBusyError: a run of it is in progress.
    """
    runs = select(run.c.id).where(run.c.conversation_id == conversation_id)
    if conn.execute(runs.where(run.c.status == RunStatus.RUNNING.value).limit(1)).first() is not None:
        raise ConversationBusyError(
            f"conversation {conversation_id!r} has a run in progress; end it first: wakeful runs cancel"
        )
    below = select(run.c.conversation_id).where(run.c.parent_run.in_(runs)).distinct()
    freed = set[str]()
    for thread in conn.execute(below).scalars().all():
        freed |= forget(conn, thread) or frozenset()
    mine = set(
        conn.execute(select(content.c.ref).where(content.c.conversation_id == conversation_id)).scalars()
    )
    # Expiring requests are items of their own, dead letters about them too.
    requests = select(action_call.c.approval_id).where(action_call.c.run_id.in_(runs))
    conn.execute(delete(work_item).where(work_item.c.key.in_(requests)))
    for table in reversed(kernel_metadata.sorted_tables):
        if table is conversation or table is run:
            continue
        if "conversation_id" in table.c:
            conn.execute(delete(table).where(table.c.conversation_id == conversation_id))
        elif "run_id" in table.c:
            conn.execute(delete(table).where(table.c.run_id.in_(runs)))
    conn.execute(delete(work_item).where(work_item.c.key == conversation_id))
    conn.execute(delete(run).where(run.c.conversation_id == conversation_id))
    gone = conn.execute(delete(conversation).where(conversation.c.id == conversation_id)).rowcount
    return frozenset(freed | (mine - kept(conn))) if gone else None


async def forget_conversation(store: Store, conversation_id: str) -> bool:
    """Delete a conversation, then its contents that nobody else keeps; False if there is none.

    Raises:
        ConversationBusyError: a run of it is in progress.
    """
    freed = await store.write(lambda conn: forget(conn, conversation_id))
    # In this order: a crash in between leaves contents without an owner, never the reverse.
    if freed:
        await asyncio.to_thread(store.files.remove, freed - await store.read(kept))
    return freed is not None


async def sweep(store: Store, *, grace_s: float = GRACE_S) -> int:
    """Remove the contents that no conversation keeps; return how many there were.

    Args:
        store: the database with its files.
        grace_s: seconds for which a content is left alone after it was put, so that the transaction that
            is to keep it can commit.
    """
    owned = await store.read(kept)
    return await asyncio.to_thread(lambda: store.files.sweep(owned.__contains__, grace_s=grace_s))
