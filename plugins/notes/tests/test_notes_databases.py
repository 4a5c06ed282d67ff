"""The same on PostgreSQL. Set WAKEFUL_TEST_POSTGRESQL to the URL of a database that may be emptied."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

import wakeful
from plugins.notes.tests.noting import remember
from wakeful import Agent
from wakeful.store import maintain
from wakeful.testing import Database, FakeClock, FakeIds, ScriptedModel, say
from wakeful_notes import shelf
from wakeful_notes.tables import LINEAGE, Note, Status, load, metadata, note

URL = os.environ.get("WAKEFUL_TEST_POSTGRESQL", "")
TEA = "Ana drinks tea in the morning"


def differences(url: str) -> list[Any]:
    """Return how the table that the migration makes differs from the code's."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.connect() as connection:

        def mine(name: str | None, kind: str, _: object) -> bool:
            return kind != "table" or name == note.name

        opts = {"include_name": mine}
        found = compare_metadata(MigrationContext.configure(connection, opts=opts), metadata)
    engine.dispose()
    return list(found)


def test_the_migration_makes_the_table_of_the_code(notes_template: Any) -> None:
    assert differences(f"sqlite:///{notes_template}") == []
    assert maintain.check(f"sqlite:///{notes_template}", [LINEAGE]) == ()


async def crowd(url: str, texts: Sequence[str], ids: FakeIds) -> list[Note]:
    """Let conversations of one user note texts at the same time, each in an application of its own."""

    async def turn(number: int, words: str) -> None:
        model = ScriptedModel([say(calls=[remember(words)]), "Done."])
        agent = Agent(name="desk", model=model, plugins=["notes"], store=url)
        async with wakeful.open(agent, clock=FakeClock(), ids=Numbered(ids, number)) as app:
            await app.send("desk", "Go", user="ana")

    await asyncio.gather(*(turn(number, words) for number, words in enumerate(texts)))
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.connect() as connection:
        found = [load(row) for row in connection.execute(shelf.everything(closed=True))]
    engine.dispose()
    return found


async def check(url: str) -> None:
    """Check what is left of several crowds."""
    ids = FakeIds()
    other = "größer \U0001f375 Ü"
    near = [TEA, TEA, TEA.replace("tea", "ale"), TEA.replace("tea", "gin"), other]
    found = await crowd(url, near, ids)
    standing = [each.text for each in found if each.status is Status.PROVISIONAL]
    assert len(standing) == 2
    assert other in standing
    newer = {each.id for each in found}
    assert {each.superseded_by for each in found if each.status is Status.SUPERSEDED} <= newer
    found = await crowd(url, [letter * 900 for letter in "abcde"], ids)
    assert sum(len(each.text) == 900 for each in found) == 2


class Numbered:
    """Ids of one of several processes."""

    def __init__(self, ids: FakeIds, number: int) -> None:
        self._ids, self._number = ids, number

    def new(self, prefix: str) -> str:
        """Return an id that no other process makes."""
        return f"{self._ids.new(prefix)}-{self._number}"

    def secret(self) -> str:
        """Return a secret."""
        return self._ids.secret()


async def test_a_crowd_keeps_to_the_limits_on_sqlite(desk: Any) -> None:
    store: Database = desk.store
    await check(store.url)


@pytest.mark.skipif(not URL, reason="WAKEFUL_TEST_POSTGRESQL is not set")
async def test_a_crowd_keeps_to_the_limits_on_postgresql() -> None:
    engine = create_engine(URL.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    await asyncio.to_thread(maintain.upgrade, URL, [LINEAGE])
    await check(URL)
    assert maintain.check(URL, [LINEAGE]) == ()
    assert differences(URL) == []
