"""A run that is cancelled while it is being taken up ends as cancelled, at whatever moment that is."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import wakeful
from tests.durability.children import fork
from tests.durability.databases import OnSqlite
from tests.durability.world import CONVERSATION, Effects, agent
from wakeful.store.records import list_runs
from wakeful.store.verify import verify
from wakeful.types import ReplyReceived, RunStatus

#: Turns of the event loop from when this process has the run until it is cancelled.
TURNS = (0, 1, 2, 4, 8, 16, 24, 48, 96, 192)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a database with a run whose process was killed after the first reply."""
    folder = tmp_path_factory.mktemp("left")
    url = OnSqlite(folder).make("left")

    async def work() -> None:
        async with wakeful.open(agent(url, Effects(folder / "effects"))) as app:
            async for event in app.stream("agent", "Go", conversation=CONVERSATION):
                if isinstance(event, ReplyReceived):
                    os.kill(os.getpid(), signal.SIGKILL)

    assert fork(lambda: asyncio.run(work())).how == "killed"
    path = folder / "left.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.mark.parametrize("turns", TURNS)
async def test_it_ends_as_cancelled(left: Path, tmp_path: Path, turns: int) -> None:
    shutil.copyfile(left, path := tmp_path / "wakeful.db")
    async with wakeful.open(agent(f"sqlite:///{path}", Effects(tmp_path / "effects"))) as app:
        (run,) = await app.store.read(list_runs)
        resuming = asyncio.ensure_future(app.resume(run.id))
        while run.id not in app._engine.runs.tasks:  # noqa: ASYNC110, SLF001  (nothing public tells so early)
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        assert await app.cancel(run.id)
        assert (await resuming).status is RunStatus.CANCELLED
        assert not await app.store.read(lambda conn: list(verify(conn)))
        items = await app.store.read(lambda conn: conn.exec_driver_sql("SELECT error FROM work_item").all())
    assert "cancelled from within" not in str(items)
