"""Lineages of tables: order, whole transactions, concurrent migrators, plugins that come and go."""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, create_engine, event, inspect, text

import wakeful_migrations as migrations
from wakeful.store.tables import kernel_metadata
from wakeful.types import Lineage
from wakeful_migrations import MigrationError

_REVISION = """
import sqlalchemy as sa
from alembic import op

revision = {revision!r}
down_revision = {down!r}
branch_labels = None
depends_on = None


def upgrade():
{body}
"""


class Plugin:
    """A package with revisions, as a plugin brings them."""

    def __init__(self, root: Path, owner: str) -> None:
        self.owner, self.package = owner, f"toy_{owner}"
        self.folder = root / self.package / "versions"
        self.folder.mkdir(parents=True)
        (root / self.package / "__init__.py").touch()
        importlib.invalidate_caches()
        self.last: str | None = None

    def add(self, body: str) -> str:
        """Write the next revision; ``body`` holds the lines of its upgrade."""
        revision = f"{self.owner}_{len(list(self.folder.glob('*.py'))) + 1:04}"
        lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
        (self.folder / f"{revision}.py").write_text(
            _REVISION.format(revision=revision, down=self.last, body=lines), encoding="utf-8"
        )
        self.last = revision
        return revision

    def lineage(self, *depends_on: str) -> Lineage:
        return Lineage(self.owner, (f"{self.package}:versions",), depends_on or ("kernel",))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    return tmp_path / "packages"


@pytest.fixture
def notes(root: Path) -> Plugin:
    plugin = Plugin(root, "notes")
    plugin.add('op.create_table("notes_note", sa.Column("id", sa.Integer, primary_key=True))')
    return plugin


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "w.db"


@pytest.fixture
def engine(database: Path) -> Iterator[Engine]:
    made = create_engine(f"sqlite:///{database}")

    @event.listens_for(made, "connect")
    def _connected(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA foreign_keys = ON")  # as the store's own connections have it

    yield made
    made.dispose()


def tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names())


def test_up_then_nothing_to_do(engine: Engine) -> None:
    assert [state.status for state in migrations.current(engine)] == ["missing"]
    (applied,) = migrations.upgrade(engine)
    assert (applied.owner, applied.before) == ("kernel", None)
    assert migrations.upgrade(engine) == ()
    (state,) = migrations.current(engine)
    assert (state.status, state.current) == ("current", state.head)
    assert tables(engine) >= {*kernel_metadata.tables, "alembic_kernel"}


def test_the_migrated_tables_are_those_the_code_declares(engine: Engine) -> None:
    migrations.upgrade(engine)
    assert migrations.check(engine, metadata={"kernel": kernel_metadata}) == ()
    # CHECK constraints are compared by their text, since Alembic does not look at them.
    declared = create_engine("sqlite://")
    with declared.begin() as connection:
        kernel_metadata.create_all(connection)
        for table in kernel_metadata.tables:
            wanted, found = (_checks(inspect(each), table) for each in (connection, engine))
            assert found == wanted, table
    declared.dispose()


def _checks(inspector: object, table: str) -> list[tuple[object, object]]:
    found = inspector.get_check_constraints(table)  # type: ignore[attr-defined]  # an inspector of tables
    return sorted((each["name"], each["sqltext"]) for each in found)


def test_check_names_what_differs(engine: Engine) -> None:
    migrations.upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE run ADD COLUMN mood TEXT"))
        connection.execute(text("DROP INDEX ix_run_started_at"))
        connection.execute(text("DROP TABLE plugin_state"))
    said = migrations.check(engine, metadata={"kernel": kernel_metadata})
    begin = "the tables of 'kernel' differ from the code: "
    assert sorted(line.removeprefix(begin) for line in said) == [
        "column run.mood should not be there",
        "index run.ix_run_started_at is missing",
        "table plugin_state is missing",
    ]


def test_check_compares_types_and_defaults(engine: Engine, notes: Plugin) -> None:
    migrations.upgrade(engine, [notes.lineage()])
    metadata = MetaData()
    Table("notes_note", metadata, Column("id", Integer, primary_key=True), Column("body", Text))
    said = migrations.check(engine, [notes.lineage()], metadata={"notes": metadata})
    assert said == ("the tables of 'notes' differ from the code: column notes_note.body is missing",)


def test_lineages_are_applied_after_what_they_need(engine: Engine, root: Path, notes: Plugin) -> None:
    labels = Plugin(root, "labels")
    labels.add('op.execute("CREATE TABLE labels_label AS SELECT id FROM notes_note")')
    applied = migrations.upgrade(engine, [labels.lineage("kernel", "notes"), notes.lineage()])
    assert [each.owner for each in applied] == ["kernel", "notes", "labels"]


def test_each_owner_has_its_own_version_table(engine: Engine, notes: Plugin) -> None:
    migrations.upgrade(engine, [notes.lineage()])
    assert tables(engine) >= {"alembic_kernel", "alembic_notes", "notes_note"}


def test_a_later_revision_makes_the_database_older(engine: Engine, notes: Plugin) -> None:
    migrations.upgrade(engine, [notes.lineage()])
    new = notes.add('op.add_column("notes_note", sa.Column("body", sa.Text))')
    state = migrations.current(engine, [notes.lineage()])[1]
    assert (state.status, state.current, state.pending) == ("older", "notes_0001", (new,))
    assert migrations.check(engine, [notes.lineage()]) == (
        f"the tables of 'notes' are at revision notes_0001, the code needs {new}; run `wakeful db upgrade`",
    )
    (applied,) = migrations.upgrade(engine, [notes.lineage()])
    assert (applied.before, applied.revisions) == ("notes_0001", (new,))


def test_a_plugin_that_goes_away_leaves_its_tables(engine: Engine, notes: Plugin) -> None:
    migrations.upgrade(engine, [notes.lineage()])
    assert migrations.upgrade(engine) == ()
    assert "notes_note" in tables(engine)
    assert migrations.check(engine, metadata={"kernel": kernel_metadata}) == ()
    assert migrations.upgrade(engine, [notes.lineage()]) == ()


def test_a_failing_migration_rolls_its_lineage_back_whole(engine: Engine, notes: Plugin) -> None:
    notes.add('op.create_table("notes_tag", sa.Column("id", sa.Integer, primary_key=True))')
    notes.add(
        'op.create_table("notes_pin", sa.Column("id", sa.Integer))\nop.execute("SELECT * FROM nowhere")'
    )
    with pytest.raises(MigrationError) as caught:
        migrations.upgrade(engine, [notes.lineage()])
    assert str(caught.value) == (
        "notes: the migration to notes_0003 failed and was rolled back whole:"
        " OperationalError: no such table: nowhere"
    )
    assert {name for name in tables(engine) if "notes" in name} == set()
    assert [state.status for state in migrations.current(engine, [notes.lineage()])] == ["current", "missing"]


def test_together_is_all_or_nothing(engine: Engine, notes: Plugin) -> None:
    notes.add("raise RuntimeError('no')")
    with pytest.raises(MigrationError, match="RuntimeError: no"):
        migrations.upgrade(engine, [notes.lineage()], together=True)
    assert tables(engine) == set()


def test_rebuilding_a_table_keeps_what_refers_to_it(engine: Engine, notes: Plugin) -> None:
    notes.add(
        'op.create_table("notes_line", sa.Column("id", sa.Integer, primary_key=True), sa.Column("note_id",'
        ' sa.Integer, sa.ForeignKey("notes_note.id", ondelete="CASCADE")))'
    )
    migrations.upgrade(engine, [notes.lineage()])
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO notes_note VALUES (1)"))
        connection.execute(text("INSERT INTO notes_line VALUES (1, 1)"))
    notes.add(
        """
with op.batch_alter_table("notes_note") as batch:
    batch.create_check_constraint("positive", "id > 0")
"""
    )
    migrations.upgrade(engine, [notes.lineage()])
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM notes_line")).scalar_one() == 1


def test_a_migration_that_orphans_rows_is_refused(engine: Engine, notes: Plugin) -> None:
    notes.add(
        'op.create_table("notes_line", sa.Column("note_id", sa.Integer, sa.ForeignKey("notes_note.id")))\n'
        'op.execute("INSERT INTO notes_line VALUES (99)")'
    )
    with pytest.raises(MigrationError, match="1 rows of table 'notes_line' refer to rows that are gone"):
        migrations.upgrade(engine, [notes.lineage()])
    assert "notes_line" not in tables(engine)


def test_an_unknown_revision_is_newer(engine: Engine, notes: Plugin) -> None:
    migrations.upgrade(engine, [notes.lineage()])
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_notes SET version_num = 'notes_0777'"))
    with pytest.raises(MigrationError, match=r"at revision notes_0777, .* upgrade the plugin 'notes'"):
        migrations.upgrade(engine, [notes.lineage()])


@pytest.mark.parametrize(
    ("lineage", "said"),
    [
        (Lineage("kernel", ("x:y",)), "two lineages of tables are owned by 'kernel'"),
        (Lineage("No", ("x:y",)), "lineage owner 'No' must be"),
        (Lineage("a", ("x:y",), ("b",)), "the tables of 'a' need those of 'b', which no plugin brings"),
        (Lineage("a", ("x:y",), ("a",)), "depend on each other in a circle: a"),
        (Lineage("a", ("wakeful_migrations",)), "a: location 'wakeful_migrations' is not package:folder"),
        (
            Lineage("a", ("nowhere_at_all:versions",)),
            "there is no folder 'versions' in package 'nowhere_at_all'",
        ),
        (Lineage("a", ()), "a: the lineage names no folder of revisions"),
    ],
)
def test_lineages_that_cannot_be_used(engine: Engine, lineage: Lineage, said: str) -> None:
    with pytest.raises(MigrationError) as caught:
        migrations.upgrade(engine, [lineage])
    assert said in str(caught.value)
    assert tables(engine) == set()


def test_two_newest_revisions_are_refused(engine: Engine, notes: Plugin) -> None:
    notes.last = None
    notes.add("pass")
    with pytest.raises(MigrationError, match="must have one newest revision, found notes_0001, notes_0002"):
        migrations.current(engine, [notes.lineage()])


def test_a_revision_that_cannot_be_imported_is_named(engine: Engine, notes: Plugin) -> None:
    (notes.folder / "broken.py").write_text("import nowhere_at_all\n", encoding="utf-8")
    with pytest.raises(MigrationError, match="notes: its revisions cannot be read: ModuleNotFoundError"):
        migrations.current(engine, [notes.lineage()])


_MIGRATOR = """
import sys
from sqlalchemy import create_engine
import wakeful_migrations
sys.stdin.readline()
engine = create_engine(sys.argv[1], connect_args={"timeout": 60} if sys.argv[1].startswith("sqlite") else {})
print(len(wakeful_migrations.upgrade(engine)))
engine.dispose()
"""


def race(url: str) -> list[str]:
    """Let two processes migrate at once; return how many lineages each has changed."""
    pair = [
        subprocess.Popen(
            [sys.executable, "-c", _MIGRATOR, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in pair:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    done = []
    for process in pair:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        done.append(out.strip())
    return sorted(done)


async def test_of_two_migrators_one_waits_and_finds_nothing_to_do(database: Path, engine: Engine) -> None:
    assert await asyncio.to_thread(race, f"sqlite:///{database}") == ["0", "1"]
    assert [state.status for state in migrations.current(engine)] == ["current"]
