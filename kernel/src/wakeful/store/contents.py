"""Which conversation keeps which content of the file store, and forgetting a conversation with all it has."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, Executable, Table, delete, exists, insert, literal, select

from wakeful.store import columns as c
from wakeful.store.tables import KernelTable, conversation, kernel_metadata, run
from wakeful.store.work import work_item
from wakeful.types.enums import RunStatus
from wakeful.types.errors import ConversationBusyError


class Content(KernelTable, table=True):
    """A conversation keeps a content; without such a row a content is nobody's and may be removed."""

    __tablename__ = "content"

    conversation_id: str = c.part(refers="conversation.id")
    ref: str = c.part()


content = cast("Table", Content.__table__)  # type: ignore[attr-defined]  # set by SQLModel's metaclass


def keep(conversation_id: str, ref: str) -> Executable:
    """Return the statement by which a conversation keeps a content; for the transaction that refers to it."""
    mine = (content.c.conversation_id == conversation_id) & (content.c.ref == ref)
    values = select(literal(conversation_id), literal(ref)).where(~exists().where(mine))
    return insert(content).from_select(["conversation_id", "ref"], values)


def kept(conn: Connection) -> set[str]:
    """Return the references of all contents that a conversation keeps."""
    return set(conn.execute(select(content.c.ref).distinct()).scalars())


def forget(conn: Connection, conversation_id: str) -> bool:
    """Delete a conversation with everything that belongs to it; False if there is none.

    Rows of plugins go with it where their tables say ``ON DELETE CASCADE``. Contents of the file store
    are nobody's afterwards, unless another conversation keeps them too.

    Raises:
        ConversationBusyError: a run of it is in progress.
    """
    runs = select(run.c.id).where(run.c.conversation_id == conversation_id)
    if conn.execute(runs.where(run.c.status == RunStatus.RUNNING.value).limit(1)).first() is not None:
        raise ConversationBusyError(
            f"conversation {conversation_id!r} has a run in progress; end it first: wakeful runs cancel"
        )
    for table in reversed(kernel_metadata.sorted_tables):
        if table is conversation or table is run:
            continue
        if "run_id" in table.c and "conversation_id" not in table.c:
            conn.execute(delete(table).where(table.c.run_id.in_(runs)))
        elif "conversation_id" in table.c:
            conn.execute(delete(table).where(table.c.conversation_id == conversation_id))
    conn.execute(delete(work_item).where(work_item.c.key == conversation_id))
    conn.execute(delete(run).where(run.c.conversation_id == conversation_id))
    gone = conn.execute(delete(conversation).where(conversation.c.id == conversation_id))
    return gone.rowcount == 1
