"""The tables keep what they promise, on both databases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Connection, Table, insert, select, update
from sqlalchemy.exc import IntegrityError, StatementError
from sqlmodel import Session
from sqlmodel import select as model_select

from wakeful.store import tables as t
from wakeful.store.engine import Store

Opener = Callable[..., Awaitable[Store]]
Seed = Callable[[Connection], None]
AT = datetime(2026, 3, 1, 9, 30, 15, 123456, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgresql"])
def any_url(request: pytest.FixtureRequest, url: str) -> str:
    return str(request.getfixturevalue("postgresql")) if request.param == "postgresql" else url


def put(table: Table, **values: Any) -> Callable[[Connection], None]:
    def write(conn: Connection) -> None:
        conn.execute(insert(table).values(**values))

    return write


@pytest.mark.parametrize("hours", [0, 5.5, -8])
async def test_moments_come_back_aware_and_in_utc(
    any_url: str, opened: Opener, seed: Seed, hours: float
) -> None:
    store = await opened(any_url)
    await store.write(seed)
    given = AT.astimezone(timezone(timedelta(hours=hours)))
    await store.write(lambda conn: conn.execute(update(t.run).values(ended_at=given)) and None)
    found = await store.read(lambda conn: conn.execute(select(t.run.c.ended_at)).scalar_one())
    assert (found, found.tzinfo) == (AT, UTC)
    later = select(t.run.c.id).where(t.run.c.ended_at >= given)
    assert await store.read(lambda conn: conn.execute(later).scalars().all()) == ["run-1"]


async def test_a_moment_without_a_zone_is_refused(store: Store, seed: Seed) -> None:
    await store.write(seed)
    naive = update(t.run).values(ended_at=AT.replace(tzinfo=None))
    with pytest.raises(StatementError, match="has no time zone"):
        await store.write(lambda conn: conn.execute(naive) and None)


@pytest.mark.parametrize(
    ("table", "values"),
    [
        (t.run, {"id": "r", "conversation_id": "c-1", "agent": "a", "status": "sleeping", "started_at": AT}),
        (t.run, {"id": "r", "conversation_id": "c-9", "agent": "a", "status": "failed", "started_at": AT}),
        (t.message, {"conversation_id": "c-1", "seq": 1, "kind": "shout", "created_at": AT}),
        (t.message, {"conversation_id": "c-1", "seq": 1, "kind": "user", "trust": 3, "created_at": AT}),
        (t.message, {"conversation_id": "c-9", "seq": 1, "kind": "user", "created_at": AT}),
        (t.step, {"run_id": "run-1", "number": 1, "status": "lost", "started_at": AT}),
        (t.action_call, {"key": "k", "run_id": "run-1", "status": "maybe"}),
        (t.epoch, {"conversation_id": "c-1", "agent": "a", "id": 1, "declaration": "none", "created_at": AT}),
        (t.plugin_state, {"conversation_id": "c-9", "plugin": "p", "key": "k"}),
    ],
    ids=lambda value: value.name if isinstance(value, Table) else None,
)
async def test_values_outside_the_vocabulary_are_refused(
    any_url: str, opened: Opener, seed: Seed, table: Table, values: dict[str, Any]
) -> None:
    store = await opened(any_url)
    await store.write(seed)
    with pytest.raises(IntegrityError):
        await store.write(put(table, **values))


async def test_a_sequence_is_used_once(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)
    row = {"conversation_id": "c-1", "seq": 1, "kind": "user", "created_at": AT}
    await store.write(put(t.message, **row))
    with pytest.raises(IntegrityError):
        await store.write(put(t.message, **row))


async def test_models_read_and_write_the_same_tables(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)

    def change(conn: Connection) -> None:
        with Session(conn, expire_on_commit=False, join_transaction_mode="create_savepoint") as session:
            session.add(t.Message(conversation_id="c-1", seq=1, kind="user", created_at=AT))
            found = session.exec(model_select(t.Run)).one()
            found.reaction = "👍"
            session.add(found)
            session.commit()

    await store.write(change)
    kind = await store.read(lambda conn: conn.execute(select(t.message.c.kind)).scalar_one())
    reaction = await store.read(lambda conn: conn.execute(select(t.run.c.reaction)).scalar_one())
    assert (kind, reaction) == ("user", "👍")


async def test_defaults_are_those_of_the_database(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)
    run = await store.read(lambda conn: conn.execute(select(t.run)).mappings().one())
    assert run["disposition"] == "notify_user"
    assert run["priority"] == "interactive"
    assert (run["text"], run["context"], run["limits"]) == ("", "[]", "{}")
    assert (run["steps"], run["tokens_output"], run["cost"], run["ended_at"]) == (0, 0, None, None)
    number = await store.read(lambda conn: conn.execute(select(t.conversation.c.next_seq)).scalar_one())
    assert number == 1
