"""The artifacts of a database as the command line sees them, without any agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from wakeful.config import load_config
from wakeful.store.engine import Store
from wakeful.store.files import FileStore
from wakeful.store.tables import conversation as table
from wakeful.store.urls import parse
from wakeful.system import SystemClock
from wakeful.types import ActionError, NotFoundError, nearest
from wakeful_spillover.actions import Questions
from wakeful_spillover.engine import Engine
from wakeful_spillover.jobs import Runner
from wakeful_spillover.shelf import find
from wakeful_spillover.sources import Sources
from wakeful_spillover.tables import LINEAGE, Stored

if TYPE_CHECKING:
    from sqlalchemy import Executable

#: Seconds and memory for people, who can press Ctrl-C.
SECONDS, MEMORY_MB = 300.0, 512
#: Conversations, the last ones, among which one that was meant is looked for.
_KNOWN = 500


class Desk:
    """The artifacts of a database, for one command. It is what questions need of an agent's services."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._engine = Engine(MEMORY_MB)
        runner = Runner(SECONDS)
        self.sources = Sources(self._engine, runner)
        self.questions = Questions(self, self._engine, runner, self.sources)
        self.engine, self.runner = self._engine, runner

    @property
    def files(self) -> FileStore:
        """Where large contents are."""
        return self._store.files

    async def read(self, statement: Executable) -> Sequence[Any]:
        """Run a SELECT."""
        return await self._store.read(lambda conn: conn.execute(statement).all())

    async def find(self, conversation: str, handle: str) -> Stored:
        """Return an artifact.

        Raises:
            NotFoundError: it is not there; names those that are.
        """
        try:
            return await find(self, conversation, handle)
        except ActionError as error:
            await self.check(conversation)
            advice = error.recovery.suggestion if error.recovery else ""
            raise NotFoundError(f"{error.message}. {advice}".strip()) from None

    async def check(self, conversation: str) -> None:
        """Do nothing for a conversation that exists.

        Raises:
            NotFoundError: there is none of this id; names the nearest.
        """
        ids = select(table.c.id).order_by(table.c.updated_at.desc()).limit(_KNOWN)
        if await self.read(select(table.c.id).where(table.c.id == conversation)):
            return
        hint = nearest(conversation, [row[0] for row in await self.read(ids)], limit=3)
        raise NotFoundError(f"there is no conversation {conversation!r}{hint}")

    async def close(self) -> None:
        """End what was opened."""
        await self.sources.close()
        await asyncio.to_thread(self._engine.close)
        await self._store.close()


@asynccontextmanager
async def opened(file: Path) -> AsyncIterator[Desk]:
    """Open the database of a configuration; nothing is made.

    Raises:
        ConfigError: the file is wrong.
        StoreError: the database is missing or cannot be used.
    """
    config = load_config(file)
    target = parse(config.store.url)
    if target.memory:
        raise NotFoundError(f"{target.label}: lasts as long as a program; it has no artifacts")
    desk = Desk(await Store.open(config.store.url, lineages=[LINEAGE], create=False, clock=SystemClock()))
    try:
        yield desk
    finally:
        await desk.close()
