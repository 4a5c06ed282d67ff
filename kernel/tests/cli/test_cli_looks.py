"""``plugins``, ``doctor`` and ``db``: looking at what is there without changing it."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import create_engine

from tests.cli import Console, Wakeful
from wakeful_migrations.lineage import KERNEL
from wakeful_migrations.runner import config_for

BROKEN = '\n[agents.other]\nmodel = "toyy:any"\n'


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        db.commit()


@pytest.fixture
def database(toy: Console, wakeful: Wakeful) -> Path:
    assert wakeful("run", "desk", "Hello", "--quiet").out == "I am a toy.\n"
    return toy.folder / "wakeful.db"


def test_plugins_are_listed_with_their_users(toy: Console, wakeful: Wakeful) -> None:
    toy.install("wk_unused", "raise RuntimeError\n", {"unused": "Unused"})
    found = {one["name"]: one for one in wakeful("plugins", "--json").json["plugins"]}
    assert found["toy"]["agents"] == ["desk (model)"]
    assert found["unused"] == {
        "name": "unused",
        "distribution": "wk-unused",
        "version": "1.0",
        "summary": "Brings wk_unused",
        "agents": [],
    }
    lines = [line.split() for line in wakeful("plugins").out.splitlines()]
    assert ["unused", "wk-unused", "1.0", "-", "Brings", "wk_unused"] in lines


def test_plugins_are_listed_without_a_file_unless_it_is_named(console: Console, wakeful: Wakeful) -> None:
    console.install("wk_unused", "", {"unused": "Unused"})
    done = wakeful("plugins")
    assert done.code == 0
    assert "unused" in done.out
    assert wakeful("plugins", "--file", "other.toml").code == 2


def test_doctor_says_what_an_agent_gets(toy: Console, wakeful: Wakeful) -> None:
    toy.write(
        "wakeful.toml", '[agents.desk]\nmodel = "toy:any"\ninstructions = "Be kind."\nactions = ["deeds:*"]\n'
    )
    toy.write(
        "deeds.py",
        "from wakeful import action\n@action\ndef send_it(to: str) -> str:\n    'Send.'\n    return to\n",
    )
    done = wakeful("doctor")
    assert done.code == 0
    assert "wakeful.db: does not exist yet" in done.out
    assert "sections  instructions" in done.out
    assert ["send_it", "external", "untrusted", "deeds"] in [line.split() for line in done.out.splitlines()]
    assert "warning: no plugin judges calls" in done.out
    assert not (toy.folder / "wakeful.db").exists()
    agent = wakeful("doctor", "--json").json["agents"]["desk"]
    assert agent["tools"] == ["send_it"]
    assert agent["slots"]["prompt_window"] == "kernel"
    assert len(agent["warnings"]) == 2


def test_doctor_warns_of_a_budget_above_the_window(toy: Console, wakeful: Wakeful) -> None:
    toy.write("wakeful.toml", '[agents.desk]\nmodel = "toy:any"\ncontext_tokens = 9000000\n')
    done = wakeful("doctor")
    assert done.code == 0
    assert "warning: context_tokens = 9,000,000 is above the window of toy:any, " in done.out


def test_doctor_reports_agents_that_cannot_be_built(toy: Console, wakeful: Wakeful) -> None:
    toy.write("wakeful.toml", (toy.folder / "wakeful.toml").read_text() + BROKEN)
    done = wakeful("doctor")
    assert done.code == 2
    assert "agent desk\n" in done.out
    assert "agent other: cannot be built\n  problem: wakeful.toml: agents.other.model: " in done.out
    assert "did you mean 'toy'?" in done.out
    found = wakeful("doctor", "--json")
    assert found.code == 2
    assert len(found.json["agents"]["other"]["problems"]) == 1


def test_doctor_works_although_the_database_does_not(toy: Console, wakeful: Wakeful) -> None:
    (toy.folder / "wakeful.db").write_bytes(b"rubbish" * 1000)
    done = wakeful("doctor")
    assert done.code == 3
    assert "wakeful.db is not a SQLite database" in done.out
    assert "agent desk\n" in done.out


def test_no_runs_yet(toy: Console, wakeful: Wakeful) -> None:
    done = wakeful("runs", "list")
    assert (done.code, done.out, done.err) == (0, "", "there are no runs yet\n")
    assert wakeful("runs", "list", "--json").json == {"runs": []}
    assert wakeful("runs", "show", "run-1").errors == ["there is no run 'run-1'; there are no runs yet"]
    assert not (toy.folder / "wakeful.db").exists()


def test_upgrade_makes_a_database(toy: Console, wakeful: Wakeful) -> None:
    assert "does not exist yet" in wakeful("db", "current").out
    assert not (toy.folder / "wakeful.db").exists()
    assert wakeful("db", "check").code == 3
    done = wakeful("db", "upgrade", "--json")
    assert (done.code, done.json["created"]) == (0, True)
    assert done.json["applied"][0]["owner"] == "kernel"
    assert wakeful("db", "current", "--json").json["status"] == "current"
    assert wakeful("db", "upgrade").out.endswith("wakeful.db: is current\n")
    assert wakeful("db", "check").out.endswith("wakeful.db: ok\n")


def test_an_older_database_is_refused_until_it_is_upgraded(toy: Console, wakeful: Wakeful) -> None:
    engine = create_engine(f"sqlite:///{toy.folder / 'wakeful.db'}")
    with engine.begin() as connection:
        command.upgrade(config_for(connection, KERNEL), "k0001")
    engine.dispose()
    done = wakeful("run", "desk", "Hello")
    assert done.code == 3
    assert "is older than the code" in done.errors[0]
    assert "`wakeful db upgrade`" in done.errors[0]
    assert "is older than the code; run `wakeful db upgrade`" in wakeful("doctor").out
    assert wakeful("db", "current", "--json").json["status"] == "older"
    assert "kernel: k0001 -> " in wakeful("db", "upgrade").out
    assert wakeful("run", "desk", "Hello", "--quiet").out == "I am a toy.\n"


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("DELETE FROM message WHERE seq = 1", "row 1 is missing"),
        ("UPDATE conversation SET next_seq = 9", "the next row would be 9"),
        ("DROP TABLE plugin_state", "table plugin_state is missing"),
    ],
)
def test_check_finds_what_is_lost(database: Path, wakeful: Wakeful, statement: str, part: str) -> None:
    assert wakeful("db", "check").code == 0
    change(database, statement)
    done = wakeful("db", "check")
    assert done.code == 3
    assert part in done.err
    found = wakeful("db", "check", "--json")
    assert (found.code, found.json["ok"]) == (3, False)


def test_a_damaged_database_is_found(database: Path, wakeful: Wakeful) -> None:
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(database.read_bytes())
    content[-4096:] = b"\xff" * 4096
    database.write_bytes(content)
    done = wakeful("db", "check")
    assert done.code == 3
    assert done.errors
    assert all("damaged" in line for line in done.errors)


def test_a_plugin_that_does_not_load_does_not_stop_an_upgrade(toy: Console, wakeful: Wakeful) -> None:
    text = '[plugins]\nenable = ["broken"]\n' + (toy.folder / "wakeful.toml").read_text()
    toy.write("wakeful.toml", text)
    toy.install("wk_broken", "import no_such_thing\n", {"broken": "Broken"})
    done = wakeful("db", "upgrade")
    assert done.code == 0
    (agent,) = re.findall(r"agents\.(\w+)", text)
    place = f"wakeful.toml: agents.{agent}: plugin 'broken': importing wk-broken 1.0"
    assert f"warning: {place}" in done.err
    done = wakeful("db", "check")
    assert (done.code, done.out.rpartition(": ")[2]) == (3, "1 problem\n")
    assert place in done.errors[0]


def test_a_database_in_memory_has_nothing_to_upgrade(toy: Console, wakeful: Wakeful) -> None:
    toy.write("wakeful.toml", '[store]\nurl = "sqlite://"\n' + (toy.folder / "wakeful.toml").read_text())
    assert wakeful("run", "desk", "Hello", "--quiet").code == 0
    assert wakeful("db", "upgrade").code == 3
    assert wakeful("db", "current").code == 0
    assert wakeful("runs", "list", "--json").json == {"runs": []}
