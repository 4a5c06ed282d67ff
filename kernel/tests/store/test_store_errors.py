"""Every way a database can refuse: one line that names it, says why and what to do."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, text

from wakeful.store import maintain
from wakeful.store import tables as t
from wakeful.store.engine import Store
from wakeful.types import Clock, StoreError

Opener = Callable[..., Awaitable[Store]]
Seed = Callable[[Connection], None]


async def refusal(awaitable: Awaitable[object]) -> str:
    """Return the text of the StoreError that ``awaitable`` ends with."""
    with pytest.raises(StoreError) as caught:
        await awaitable
    said = str(caught.value)
    assert "\n" not in said
    return said


@contextmanager
def other_connection(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        yield connection
    finally:
        connection.close()


async def made(url: str, clock: Clock, seed: Seed | None = None) -> None:
    store = await Store.open(url, clock=clock)
    if seed is not None:
        await store.write(seed)
    await store.close()


async def test_missing_folder(tmp_path: Path, opened: Opener) -> None:
    said = await refusal(opened(f"sqlite:///{tmp_path}/nowhere/w.db"))
    assert said == (
        f"database {tmp_path}/nowhere/w.db: its folder {tmp_path}/nowhere does not exist; make it first"
    )


async def test_a_folder_in_place_of_the_file(tmp_path: Path, opened: Opener) -> None:
    assert (
        await refusal(opened(f"sqlite:///{tmp_path}"))
        == f"database {tmp_path}: is a folder; name a file in it"
    )


async def test_missing_file_that_may_not_be_made(path: Path, url: str, opened: Opener) -> None:
    wanted = f"database {path}: does not exist"
    said = await refusal(opened(create=False))
    assert said == f"{wanted}; check the url, or run `wakeful db upgrade` to make it"
    said = await refusal(opened(f"{url}?mode=ro"))
    assert said.startswith(f"{wanted} (mode=ro makes none)")
    assert not path.exists()


async def test_an_empty_file_is_filled_unless_it_may_not_be(path: Path, opened: Opener) -> None:
    path.touch()
    assert "has no tables yet; run `wakeful db upgrade`" in await refusal(opened(create=False))
    await opened()
    with other_connection(path) as connection:
        assert connection.execute("SELECT count(*) FROM run").fetchone() == (0,)


async def test_not_a_database(path: Path, opened: Opener) -> None:
    path.write_bytes(b"these are the accounts of the year 2025\n" * 200)
    said = await refusal(opened())
    assert said == (
        f"database {path} is not a SQLite database; name another file, or move this one away to start afresh"
    )
    assert path.read_bytes().startswith(b"these are")


async def test_a_damaged_database(path: Path, url: str, opened: Opener, clock: Clock, seed: Seed) -> None:
    await made(url, clock, seed)
    content = bytearray(path.read_bytes())
    # The first page stays, so it is recognised; all others become noise.
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    said = await refusal(opened())
    assert said.startswith(f"database {path} is damaged; restore it from a backup")


async def test_the_database_of_somebody_else(path: Path, opened: Opener) -> None:
    with other_connection(path) as connection:
        connection.execute("CREATE TABLE invoices (id INTEGER)")
    said = await refusal(opened())
    assert said.startswith(f"database {path}: holds tables that are not wakeful's (invoices, …)")
    with other_connection(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("invoices",)]


async def test_locked_when_written(path: Path, url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(f"{url}?timeout=0.05")
    with other_connection(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        said = await refusal(store.write(seed))
    assert said == (
        f"database {path} is locked by another process (waited 0.05 s); wait for it or end it, then try again"
    )
    await store.write(seed)  # the store itself is none the worse


async def test_opening_and_reading_do_not_wait_for_a_writer(
    path: Path, url: str, opened: Opener, clock: Clock, seed: Seed
) -> None:
    await made(url, clock, seed)
    with other_connection(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        store = await opened(f"{url}?timeout=0.05")
        runs = await store.read(lambda conn: conn.execute(text("SELECT id FROM run")).scalars().all())
        assert runs == ["run-1"]
        assert maintain.check(f"{url}?timeout=0.05") == ()


async def test_locked_inside_a_transaction_of_several_hops(
    path: Path, url: str, opened: Opener, seed: Seed
) -> None:
    store = await opened(f"{url}?timeout=0.05")

    async def hops() -> None:
        async with store.transaction() as tx:
            await tx.run(seed)

    with other_connection(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert "is locked by another process" in await refusal(hops())
    async with store.transaction() as tx:
        with other_connection(path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            assert "is locked by another process" in await refusal(tx.run(seed))
        await tx.run(seed)  # what failed to begin can begin later


async def test_locked_when_opened(path: Path, url: str, opened: Opener, clock: Clock) -> None:
    await made(url, clock)
    with other_connection(path) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        said = await refusal(opened(f"{url}?timeout=0.05"))
    assert "is locked by another process (waited 0.05 s)" in said


async def test_read_only_reads_and_says_why_it_does_not_write(
    path: Path, url: str, opened: Opener, clock: Clock, seed: Seed
) -> None:
    await made(url, clock, seed)
    store = await opened(f"{url}?mode=ro")
    runs = await store.read(lambda conn: conn.execute(text("SELECT id FROM run")).scalars().all())
    assert runs == ["run-1"]
    said = await refusal(store.write(seed))
    assert said == f"database {path} is read-only; take mode=ro out of the url to write to it"


async def test_disk_full(path: Path, url: str, opened: Opener, clock: Clock, seed: Seed) -> None:
    await made(url, clock, seed)
    store = await opened(f"{url}?max_page_count=60")
    big = insert(t.plugin_state).values(
        conversation_id="c-1", plugin="p", key="k", value='"' + "x" * 400_000 + '"'
    )
    said = await refusal(store.write(lambda conn: conn.execute(big) and None))
    assert said == (
        f"database {path} cannot grow: the disk is full or its bound of 60 pages (max_page_count) is reached;"
        " free some space, then try again"
    )
    assert (
        await store.read(lambda conn: conn.execute(text("SELECT count(*) FROM plugin_state")).scalar_one())
        == 0
    )


async def test_disk_full_while_the_tables_are_made(path: Path, url: str, opened: Opener) -> None:
    said = await refusal(opened(f"{url}?max_page_count=5"))
    assert "cannot grow: the disk is full or its bound of 5 pages" in said
    await opened()  # nothing half made is in the way


async def test_newer_schema(path: Path, url: str, opened: Opener, clock: Clock) -> None:
    await made(url, clock)
    head = maintain.current(url)[0].head
    with other_connection(path) as connection:
        connection.execute("UPDATE alembic_kernel SET version_num = 'k9999'")
    said = await refusal(opened())
    assert said == (
        f"database {path}: the tables of 'kernel' are at revision k9999, which this installation does not"
        f" know (its newest is {head}); upgrade wakeful"
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "wakeful.db",
            "store url 'wakeful.db' cannot be read; expected sqlite:///file.db or postgresql://host/name",
        ),
        ("sqlit:///w.db", "store url scheme 'sqlit' is not supported; did you mean 'sqlite'?"),
        ("mysql://h/w", "store url scheme 'mysql' is not supported; known: postgresql, sqlite"),
        ("sqlite:///w.db?mod=ro", "database w.db: unknown option 'mod' in the url; did you mean 'mode'?"),
        ("sqlite:///w.db?mode=read", "database w.db: unknown mode 'read' in the url; known: ro, rw, rwc"),
        ("sqlite:///w.db?timeout=soon", "database w.db: timeout='soon' in the url must be a number above 0"),
        (
            "sqlite:///w.db?max_page_count=-1",
            "database w.db: max_page_count='-1' in the url must be a number above 0",
        ),
        (
            "postgresql+asyncpg://ana:geheim@h/w",
            "database postgresql+asyncpg://ana:***@h/w: driver 'postgresql+asyncpg' is not supported; write…",
        ),
        (
            "postgresql://ana:geheim@h:port/w",
            "store url 'postgresql://***@h:port/w' cannot be read; expected sqlite:///file.db or…",
        ),
    ],
)
async def test_urls_that_mean_nothing(url: str, said: str, opened: Opener) -> None:
    found = await refusal(opened(url))
    assert found.startswith(said.rstrip("…"))
    assert "geheim" not in found


async def test_postgresql_that_is_not_there(opened: Opener) -> None:
    pytest.importorskip("psycopg")
    # Port 1 is reserved and closed.
    said = await refusal(opened("postgresql://ana:geheim@127.0.0.1:1/w"))
    assert said.startswith("database postgresql://ana:***@127.0.0.1:1/w: the server cannot be reached (")
    assert "geheim" not in said


async def test_postgresql_without_its_driver(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = await refusal(opened("postgresql://127.0.0.1:1/w"))
    assert said.endswith("the driver is not installed; run `pip install 'wakeful[postgresql]'`")


async def test_postgresql_that_refuses(postgresql: str, opened: Opener) -> None:
    server, _, name = postgresql.rpartition("/")
    said = await refusal(opened(f"{server}/{name}_missing"))
    assert said.endswith("there is no such database; create it first (`createdb NAME`)")
    scheme, _, rest = server.partition("://")
    login, _, host = rest.rpartition("@")
    said = await refusal(opened(f"{scheme}://{login.partition(':')[0]}:wrong@{host}/{name}"))
    assert said.endswith("the password was refused; check user and password in the url")
    assert "wrong" not in said
    said = await refusal(opened(f"{postgresql}?bogus=1"))
    assert said.endswith('invalid connection option "bogus"; take it out of the url')
