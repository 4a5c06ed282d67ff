"""A database that cannot be written: one clear error, nothing half done, and the run goes on later."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import wakeful
from tests.durability.arena import Repeats
from wakeful import Agent, action
from wakeful.store.verify import verify
from wakeful.testing import Database, FakeClock
from wakeful.types import RunStatus, StoreError

#: Steps with calls in a turn.
TIMES = 4


def agent(url: str, folder: Path, did: list[str]) -> Agent:
    @action(effect="read", output_trust="trusted")
    async def fetch_much() -> str:
        """Fetch much."""
        did.append("read")
        return "A page of text. " * 2000

    @action(effect="write", output_trust="trusted")
    async def pay() -> str:
        """Pay."""
        did.append("paid")
        return "paid"

    model = Repeats((("pay", {}), ("fetch_much", {})), times=TIMES)
    return Agent(model=model, actions=[fetch_much, pay], store=url, folder=folder)


def pages_of(database: Database) -> int:
    with closing(sqlite3.connect(database.path)) as connection:
        return int(connection.execute("PRAGMA page_count").fetchone()[0])


@pytest.mark.parametrize("room", [3, 6, 9, 12, 16, 20, 25, 30, 36, 45])
async def test_a_full_disk_ends_in_one_error_and_the_run_goes_on_when_there_is_room(
    store: Database, clock: FakeClock, tmp_path: Path, room: int
) -> None:
    did: list[str] = []
    bounded = f"{store.url}?max_page_count={pages_of(store) + room}"
    async with wakeful.open(agent(bounded, tmp_path, did), clock=clock) as app:
        with pytest.raises(StoreError, match="cannot grow: the disk is full") as error:
            await app.send("agent", "Go", conversation="c")
    assert "\n" not in str(error.value)
    runs = store.rows("SELECT id FROM run")
    if not runs:
        return  # not even the beginning had room, and nothing of it is there
    assert f"run {runs[0]['id']} is tried again by itself" in str(error.value)
    async with wakeful.open(agent(store.url, tmp_path, did), clock=clock) as app:
        answer = await app.resume(runs[0]["id"])
        assert (answer.status, answer.text) == (RunStatus.COMPLETED, "Done.")
        assert not await app.store.read(lambda conn: list(verify(conn)))
    assert did.count("paid") <= TIMES


async def test_a_database_that_may_only_be_read_says_so_once(
    store: Database, clock: FakeClock, tmp_path: Path
) -> None:
    did: list[str] = []
    async with wakeful.open(agent(f"{store.url}?mode=ro", tmp_path, did), clock=clock) as app:
        with pytest.raises(StoreError, match="is read-only; take mode=ro out of the url"):
            await app.send("agent", "Go", conversation="c")
    assert did == []
    assert store.rows("SELECT id FROM conversation") == store.rows("SELECT id FROM inbox") == []
