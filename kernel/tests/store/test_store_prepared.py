"""Prepared statements mean the same as any others, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from wakeful.store.engine import Store
from wakeful.store.prepared import Prepared
from wakeful.store.tables import conversation, model_call, run
from wakeful.types import Clock

ADD = Prepared(insert(conversation))
ADD_RUN = Prepared(insert(run))
ADD_CALL = Prepared(insert(model_call))
FIND = Prepared(
    select(conversation).where(conversation.c.id == bindparam("id_"), conversation.c.agent == "desk")
)
FIND_RUN = Prepared(select(run).where(run.c.id == bindparam("id_")))
NEXT = Prepared(
    update(conversation)
    .where(conversation.c.id == bindparam("id_"), conversation.c.created_at <= bindparam("until_"))
    .values(turns=conversation.c.turns + bindparam("more_"))
    .returning(conversation.c.turns - bindparam("more_"), conversation.c.created_at)
)
# Five hours east of Greenwich, to see that moments are kept and not digits.
WHEN = datetime(2026, 3, 1, 12, 30, 15, 250_000, timezone(timedelta(hours=5)))


@pytest_asyncio.fixture(params=["sqlite", "postgresql"])
async def opened(request: pytest.FixtureRequest, url: str, clock: Clock) -> AsyncIterator[Store]:
    at = url if request.param == "sqlite" else str(request.getfixturevalue("postgresql"))
    store = await Store.open(at, clock=clock)
    yield store
    await store.close()


def row(**more: Any) -> dict[str, Any]:
    return {"id": "c", "agent": "desk", "secret": "s", "created_at": WHEN, "updated_at": WHEN, **more}


async def test_what_is_inserted_is_found_with_defaults_and_moments(opened: Store) -> None:
    def write(conn: Connection) -> None:
        assert ADD.run(conn, row()) == 1
        ADD_RUN.run(conn, _run("r"))
        ADD_CALL.run_each(conn, [{"run_id": "r", "started_at": WHEN, "step": n} for n in (1, 2)])

    await opened.write(write)
    found = await opened.read(lambda conn: FIND.first(conn, {"id_": "c"}))
    assert (found.user, found.turns, found.next_seq) == ("", 0, 1)
    assert (found.created_at, found.created_at.tzinfo) == (WHEN, UTC)
    same = await opened.read(lambda conn: conn.execute(select(conversation)).one())
    assert tuple(found) == tuple(same)
    ran = await opened.read(lambda conn: FIND_RUN.first(conn, {"id_": "r"}))
    assert (ran.cost, ran.ended_at, ran.started_at) == (0.25, None, WHEN)
    calls = await opened.read(lambda conn: conn.execute(select(model_call.c.id, model_call.c.step)).all())
    assert [tuple(call) for call in calls] == [(1, 1), (2, 2)]


async def test_updates_return_what_they_changed_and_count_it(opened: Store) -> None:
    values = {"id_": "c", "until_": WHEN, "more_": 3}
    await opened.write(lambda conn: ADD.run(conn, row(turns=4)))
    assert await opened.write(lambda conn: NEXT.all(conn, values)) == [(4, WHEN)]
    assert await opened.write(lambda conn: ADD.run(conn, row(id="second"))) == 1
    early = values | {"until_": WHEN - timedelta(microseconds=1)}
    assert await opened.write(lambda conn: NEXT.first(conn, early)) is None
    assert (await opened.read(lambda conn: FIND.first(conn, {"id_": "c"}))).turns == 7
    assert await opened.read(lambda conn: FIND.all(conn, {"id_": "other"})) == []


async def test_an_error_has_the_name_that_sqlalchemy_gives_it_and_undoes_the_transaction(
    opened: Store,
) -> None:
    def twice(conn: Connection) -> None:
        ADD.run(conn, row(id="new"))
        ADD.run(conn, row(secret="the words of the secret"))

    await opened.write(lambda conn: ADD.run(conn, row()))
    with pytest.raises(IntegrityError) as caught:
        await opened.write(twice)
    assert "INSERT INTO conversation" in str(caught.value)
    assert "the words" not in str(caught.value)
    assert await opened.read(lambda conn: FIND.first(conn, {"id_": "new"})) is None
    await opened.write(lambda conn: ADD.run(conn, row(id="new")))


@pytest.mark.parametrize("values", [{"id_": "c", "nobody_": 1}, {}])
async def test_values_must_fit(opened: Store, values: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"parameters id_, got (id_, nobody_|none) in: SELECT"):
        await opened.write(lambda conn: FIND.first(conn, values))


async def test_it_begins_a_transaction_like_any_statement(opened: Store) -> None:
    def alone(conn: Connection) -> list[Any]:
        begun = conn.in_transaction()
        FIND.first(conn, {"id_": "c"})
        return [begun, conn.in_transaction()]

    assert await opened.read(alone) == [False, True]


def _run(run_id: str) -> dict[str, Any]:
    fixed = {"conversation_id": "c", "agent": "desk", "status": "completed", "cost": 0.25}
    return {"id": run_id, "started_at": WHEN, **fixed}
