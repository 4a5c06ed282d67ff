"""What ``wakeful db upgrade``, ``current`` and ``check`` stand on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection

from wakeful.store import maintain
from wakeful.store.engine import Store
from wakeful.types import Clock, Lineage, StoreError

Seed = Callable[[Connection], None]

_REVISION = """
import sqlalchemy as sa
from alembic import op

revision = "n0001"
down_revision = None


def upgrade():
    op.create_table("notes_note", sa.Column("id", sa.Integer, primary_key=True))
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lineage:
    """Return the lineage of a plugin that brings a table."""
    folder = tmp_path / "packages" / "toy_store_notes"
    (folder / "versions").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "versions" / "n0001.py").write_text(_REVISION, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder.parent))
    return Lineage("notes", ("toy_store_notes:versions",))


@pytest.fixture(params=["sqlite", "postgresql"])
def any_url(request: pytest.FixtureRequest, url: str) -> str:
    return str(request.getfixturevalue("postgresql")) if request.param == "postgresql" else url


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_upgrade_makes_a_database_and_tells_what_it_did(any_url: str, notes: Lineage) -> None:
    told: list[tuple[str, str]] = []
    done = maintain.upgrade(any_url, [notes], progress=lambda *step: told.append(step))
    assert [(each.owner, each.before) for each in done] == [("kernel", None), ("notes", None)]
    assert told == [("kernel", done[0].revisions[-1]), ("notes", "n0001")]
    assert maintain.upgrade(any_url, [notes]) == ()
    assert [state.status for state in maintain.current(any_url, [notes])] == ["current", "current"]
    assert maintain.check(any_url, [notes]) == ()


async def test_a_database_older_than_the_code_is_refused_until_it_is_upgraded(
    any_url: str, clock: Clock, notes: Lineage
) -> None:
    store = await Store.open(any_url, clock=clock)
    await store.close()
    with pytest.raises(StoreError) as caught:
        await Store.open(any_url, lineages=[notes], clock=clock)
    assert str(caught.value).endswith(
        ": is older than the code (tables of 'notes' missing, needed n0001); run `wakeful db upgrade`"
    )
    assert [problem.what for problem in maintain.check(any_url, [notes])] == [
        "the tables of 'notes' are missing, the code needs n0001; run `wakeful db upgrade`"
    ]
    assert [each.owner for each in maintain.upgrade(any_url, [notes])] == ["notes"]
    again = await Store.open(any_url, lineages=[notes], clock=clock)
    await again.close()
    # A plugin that goes away leaves its tables, and nobody minds.
    without = await Store.open(any_url, clock=clock)
    await without.close()
    assert maintain.check(any_url) == ()


async def test_upgrading_beside_an_open_store(url: str, clock: Clock, notes: Lineage, seed: Seed) -> None:
    store = await Store.open(url, clock=clock)
    await store.write(seed)
    maintain.upgrade(url, [notes])
    await store.close()
    assert maintain.check(url, [notes]) == ()


def test_current_and_check_make_nothing(path: Path, url: str) -> None:
    for look in (maintain.current, maintain.check):
        with pytest.raises(StoreError, match="does not exist; check the url"):
            look(url)
    assert not path.exists()


def test_a_database_of_others_can_be_adopted_on_purpose(path: Path, url: str) -> None:
    change(path, "CREATE TABLE invoices (id INTEGER)")
    maintain.upgrade(url)
    assert maintain.check(url) == ()


async def test_check_finds_gaps_and_changed_tables(path: Path, url: str, clock: Clock, seed: Seed) -> None:
    store = await Store.open(url, clock=clock)
    await store.write(seed)
    await store.close()
    change(path, "UPDATE conversation SET next_seq = 3", "ALTER TABLE step ADD COLUMN mood TEXT")
    assert [str(problem) for problem in maintain.check(url)] == [
        f"database {path}: the tables of 'kernel' differ from the code: column step.mood should not be there",
        "conversation c-1: the next row would be 3, but should be 1",
    ]


def test_check_of_a_newer_database_says_so_and_looks_no_further(path: Path, url: str) -> None:
    maintain.upgrade(url)
    change(path, "UPDATE alembic_kernel SET version_num = 'k9999'", "DROP TABLE message")
    (problem,) = maintain.check(url)
    assert "at revision k9999, which this installation does not know" in problem.what
    with pytest.raises(StoreError, match="k9999"):
        maintain.upgrade(url)


def test_check_stops_after_enough_problems(path: Path, url: str) -> None:
    maintain.upgrade(url)
    rows = ", ".join(f"('c{number}', 'a', 's', '', '', 9)" for number in range(maintain.PROBLEM_LIMIT + 5))
    change(
        path, f"INSERT INTO conversation (id, agent, secret, created_at, updated_at, next_seq) VALUES {rows}"
    )
    found = maintain.check(url)
    assert len(found) == maintain.PROBLEM_LIMIT + 1
    assert found[-1].what == f"stopped after {maintain.PROBLEM_LIMIT} problems"


async def test_check_reports_a_damaged_file(path: Path, url: str, clock: Clock, seed: Seed) -> None:
    store = await Store.open(url, clock=clock)
    await store.write(seed)
    await store.close()
    # The index claims to be about another column than the one it was filled from.
    wrong = (
        "UPDATE sqlite_master SET sql = replace(sql, '(started_at)', '(model)') WHERE name LIKE 'ix_run_s%'"
    )
    change(path, "PRAGMA writable_schema = ON", wrong)
    (problem,) = maintain.check(url)
    assert problem.what == "is damaged: row 1 missing from index ix_run_started_at"
