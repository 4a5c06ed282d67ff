"""``wakeful db forget`` and ``wakeful db clean``: deleting what is no longer wanted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import select

from wakeful.cli.exits import Exit
from wakeful.cli.output import say, say_json
from wakeful.cli.run import opened
from wakeful.store.contents import sweep
from wakeful.store.tables import conversation
from wakeful.types import NotFoundError, nearest

#: Conversations that are looked at for a near name.
_KNOWN = 200


def forget_one(file: Path, conversation_id: str, *, as_json: bool) -> int:
    """Delete a conversation with all that belongs to it.

    Raises:
        NotFoundError: there is no such conversation; names the nearest.
        ConversationBusyError: a run of it is in progress.
        WakefulError: the database cannot be used.
    """

    async def work() -> None:
        async with opened(file) as app:
            if await app.forget(conversation_id):
                return
            query = select(conversation.c.id).order_by(conversation.c.updated_at.desc()).limit(_KNOWN)
            known = await app.store.read(lambda conn: list(conn.execute(query).scalars()))
            hint = nearest(conversation_id, known, limit=3)
            raise NotFoundError(f"there is no conversation {conversation_id!r}{hint}")

    asyncio.run(work())
    if as_json:
        say_json({"conversation": conversation_id, "forgotten": True})
    else:
        say(f"conversation {conversation_id}: forgotten")
    return Exit.OK


def clean(file: Path, grace_s: float, *, as_json: bool) -> int:
    """Remove large contents that no conversation keeps and that are older than ``grace_s`` seconds.

    Raises:
        WakefulError: the database cannot be used.
    """

    async def work() -> int:
        async with opened(file) as app:
            return await sweep(app.store, grace_s=grace_s)

    removed = asyncio.run(work())
    if as_json:
        say_json({"removed": removed})
    else:
        say(f"{removed} contents removed")
    return Exit.OK
