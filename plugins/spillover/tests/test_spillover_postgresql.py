"""The same on PostgreSQL. Set WAKEFUL_TEST_POSTGRESQL to the URL of a database that may be emptied."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, select, text

import wakeful
from wakeful import Agent, action
from wakeful.store import maintain
from wakeful.testing import FakeClock, FakeIds, ScriptedModel, say
from wakeful.types import ActionEnded
from wakeful_spillover.tables import LINEAGE, artifact, metadata

URL = os.environ.get("WAKEFUL_TEST_POSTGRESQL", "")
pytestmark = pytest.mark.skipif(not URL, reason="WAKEFUL_TEST_POSTGRESQL is not set")


@pytest.fixture
def url() -> str:
    engine = create_engine(URL.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return URL


def differences(url: str) -> list[Any]:
    """Return how the table that the migration makes differs from the code's."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.connect() as connection:

        def mine(name: str | None, kind: str, _: object) -> bool:
            return kind != "table" or name == artifact.name

        found = compare_metadata(
            MigrationContext.configure(connection, opts={"include_name": mine}), metadata
        )
    engine.dispose()
    return list(found)


async def test_artifacts_are_stored_asked_and_forgotten(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the folder of large contents is made where the process runs
    rows = [{"id": number, "owner": f"größer \0 {number % 3}", "sum": number / 4} for number in range(300)]

    @action(effect="read")
    def give(large: bool) -> Any:
        """Give."""
        return (row for _ in range(20) for row in rows) if large else rows

    question = {"group_by": ["owner"], "aggregates": [{"op": "sum", "column": "id"}]}
    replies: list[Any] = [
        say(calls=[("give", {"large": False}), ("give", {"large": True}), ("give", {"large": False})]),
        say(calls=[("artifact_rows", {"handle": handle, **question}) for handle in "AB"]),
        "[A] and [B].",
    ]
    agent = Agent(model=ScriptedModel(replies), actions=[give], plugins=["spillover"], store=url)
    async with wakeful.open(agent, clock=FakeClock(), ids=FakeIds()) as app:
        events: list[Any] = [event async for event in app.stream("agent", "Go", conversation="one")]
        ended = [event for event in events if isinstance(event, ActionEnded)]
        sums = [sum(range(place, 300, 3)) for place in range(3)]
        small, large = (event.result.outputs["rows"] for event in ended[3:])
        assert [row["sum_id"] for row in small] == sums
        assert [row["sum_id"] for row in large] == [20 * total for total in sums]
        assert events[-1].answer.artifacts == ("A", "B")
        stored = await app.store.read(lambda conn: conn.execute(select(artifact.c.number)).all())
        assert len(stored) == 2
        assert await app.forget("one")
        assert await app.store.read(lambda conn: conn.execute(select(artifact)).all()) == []
        folder = app.store.files.folder
        assert folder is not None
        assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert maintain.check(url, [LINEAGE]) == ()
    assert differences(url) == []
