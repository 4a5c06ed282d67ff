"""Everything that can be wrong prints one clear line, exits with its code and leaves nothing half-written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import field, frozen

from tests.cli import Console
from tests.desk import FILLS_A_SLOT, GIVES_A_TOOL, SAYS, TOOLS, broken_plugin, configure, plugin, project


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return project(tmp_path)


@frozen
class Case:
    """Something that is wrong: how it comes about, and every part that the lines must have."""

    name: str
    prepare: Callable[[Console], object]
    parts: tuple[str, ...]
    code: int = 2
    lines: int = 1
    text: str = field(default="Hello")


def no_file(console: Console) -> None:
    (console.folder / "wakeful.toml").unlink()


def needy_plugin(console: Console) -> None:
    plugin(console, "needy", GIVES_A_TOOL, requires=("not-there-at-all>=2",))
    configure(console, "needy")


def one_tool_name(console: Console) -> None:
    plugin(console, "first", GIVES_A_TOOL)
    plugin(console, "second", GIVES_A_TOOL)
    configure(console, "first", "second")


def one_slot(console: Console) -> None:
    plugin(console, "first", FILLS_A_SLOT)
    plugin(console, "second", FILLS_A_SLOT)
    configure(console, "first", "second")


def misspelt_hook(console: Console) -> None:
    plugin(console, "typo", "def tool_action(self, agent):\n        return []\n")
    configure(console, "typo")


def wrong_argument(console: Console) -> None:
    plugin(console, "typo", "def tool_actions(self, agnet):\n        return []\n")
    configure(console, "typo")


def unknown_scheme(console: Console) -> None:
    text = (console.folder / "wakeful.toml").read_text().replace("replay:", "repaly:")
    console.write("wakeful.toml", text)


def read_only(console: Console) -> None:
    assert console.run("db", "upgrade").code == 0
    configure(console, options="mode=ro")


def newer_schema(console: Console) -> None:
    assert console.run("db", "upgrade").code == 0
    with closing(sqlite3.connect(console.folder / "wakeful.db")) as db:
        db.execute("UPDATE alembic_kernel SET version_num = 'k9999'")
        db.commit()


def corrupt(console: Console) -> None:
    (console.folder / "wakeful.db").write_bytes(b"not a database at all " * 500)


def disk_full(console: Console) -> None:
    configure(console, options="max_page_count=4")


CASES = (
    Case("no file", no_file, ("wakeful.toml", "no such file", "wakeful init")),
    Case(
        "unknown key",
        lambda console: configure(console, extra='instrutions = "x"\n'),
        ("wakeful.toml: agents.desk.instrutions: unknown", "did you mean 'instructions'?"),
    ),
    Case(
        "wrong type",
        lambda console: configure(console, extra='limits = { steps = "20" }\n'),
        ("wakeful.toml: agents.desk.limits.steps: expected an integer", '"20"'),
    ),
    Case(
        "unknown plugin",
        lambda console: configure(console, "recods"),
        ("wakeful.toml: agents.desk: plugin 'recods'", "did you mean 'records'?"),
    ),
    Case(
        "broken plugin import",
        broken_plugin,
        ("wakeful.toml: agents.desk: plugin 'broken'", "wk-broken 1.0", "not_there_at_all"),
    ),
    Case(
        "dependency missing",
        needy_plugin,
        ("wakeful.toml: agents.desk: plugin 'needy'", "needs not-there-at-all>=2", "not installed"),
    ),
    Case(
        "two plugins with one tool name",
        one_tool_name,
        ("wakeful.toml: agents.desk", "'look_up'", "'first'", "'second'"),
    ),
    Case(
        "two fillers of a slot",
        one_slot,
        ("wakeful.toml: agents.desk", "prompt_window", "'first'", "'second'"),
    ),
    Case(
        "misspelt hook",
        misspelt_hook,
        ("wakeful.toml: agents.desk", "'typo'", "tool_action", "did you mean 'tool_actions'?"),
    ),
    Case(
        "hook with a wrong argument",
        wrong_argument,
        ("wakeful.toml: agents.desk", "'typo'", "'agnet'", "did you mean 'agent'?"),
    ),
    Case(
        "unknown model scheme",
        unknown_scheme,
        ("wakeful.toml: agents.desk.model", "'repaly'", "did you mean 'replay'?"),
    ),
    Case("read-only database", read_only, ("wakeful.db", "read-only"), code=3),
    Case("newer schema", newer_schema, ("wakeful.db", "k9999", "upgrade wakeful"), code=3),
    Case("corrupt database", corrupt, ("wakeful.db", "not a SQLite database"), code=3),
    Case("disk full", disk_full, ("wakeful.db", "disk is full", "4 pages"), code=3),
    Case(
        "malformed cassette",
        lambda console: console.write("script.jsonl", SAYS + '{"txt": "?"}\n'),
        ("script.jsonl:2", "'txt'", "did you mean 'text'?"),
    ),
    Case(
        "inexpressible parameter",
        lambda console: console.write("tools.py", TOOLS.replace("region: str", "region: complex")),
        ("wakeful.toml: agents.desk.actions", "region", "complex"),
    ),
    Case(
        "module that is not there",
        lambda console: (console.folder / "tools.py").rename(console.folder / "tool.py"),
        ("agents.desk.actions", "'tools'", "did you mean 'tool'?"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_one_clear_line(console: Console, case: Case) -> None:
    case.prepare(console)
    done = console.run("run", "desk", case.text, "--json")
    assert "Traceback" not in done.err + done.out
    assert len(done.errors) == case.lines, done.err
    for part in case.parts:
        assert part in done.errors[0]
    assert done.code == case.code
    assert done.json["error"]["exit_code"] == case.code
    assert done.json["error"]["message"].splitlines() == done.errors
    assert tables(console) in (set(), EVERY)
    assert runs(console) == 0


EVERY = {"conversation", "message", "run", "step", "model_call", "action_call"}


def tables(console: Console) -> set[str]:
    """Return which of the kernel's tables there are: all or none, or nothing that can be read."""
    path = console.folder / "wakeful.db"
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as db:
        try:
            found = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        except sqlite3.DatabaseError:
            return set()
    return {name for (name,) in found} & EVERY


def runs(console: Console) -> int:
    if "run" not in tables(console):
        return 0
    with closing(sqlite3.connect(console.folder / "wakeful.db")) as db:
        return int(db.execute("SELECT count(*) FROM run").fetchone()[0])


@pytest.fixture
def locked(console: Console) -> Iterator[Console]:
    assert console.run("db", "upgrade").code == 0
    with closing(sqlite3.connect(console.folder / "wakeful.db", isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield console
        db.execute("ROLLBACK")


def test_a_locked_database(locked: Console) -> None:
    done = locked.run("run", "desk", "Hello")
    assert done.code == 3
    (line,) = done.errors
    assert "wakeful.db is locked by another process (waited 0.3 s)" in line


def test_a_disk_that_fills_during_a_run_leaves_a_whole_database(console: Console) -> None:
    assert console.run("db", "upgrade").code == 0
    with closing(sqlite3.connect(console.folder / "wakeful.db")) as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
    configure(console, options=f"max_page_count={pages + 2}")
    done = console.run("run", "desk", "-", given="much " * 20_000)
    assert done.code == 3
    (line,) = done.errors
    assert "the disk is full" in line
    configure(console)
    assert runs(console) == 0
    assert console.run("db", "check").code == 0
    assert console.run("run", "desk", "Hello", "--quiet").out == "Forty-two.\n"


def test_what_the_agents_name_is_reported_with_what_is_wrong_in_the_file(console: Console) -> None:
    extra = 'limits = { steps = "20" }\n[plugins.records]\nurl = "${env:NOT_SET}"\nmax_row = 5\n'
    console.write("tool.py", "")
    configure(console, "spilover", "records", extra=extra)
    text = (console.folder / "wakeful.toml").read_text()
    console.write("wakeful.toml", text.replace("replay:", "repaly:").replace("tools:*", "toools:*"))
    for command in (("run", "desk", "Hello"), ("doctor",), ("plugins",), ("runs", "list"), ("db", "check")):
        done = console.run(*command)
        assert done.code == 2
        assert [line.removeprefix("wakeful.toml: ").split(" ")[0] for line in done.errors] == [
            "agents.desk.actions:",
            "agents.desk.limits.steps:",
            "agents.desk.model:",
            "agents.desk:",
            "plugins.records.max_row:",
            "plugins.records.url:",
        ]


def test_every_problem_of_an_agent_is_reported_at_once(console: Console) -> None:
    extra = "[plugins.spillover]\nthreshold_char = 4\n[agents.desk.plugins.spillover]\nglimpse = 1\n"
    configure(console, "spillover", "recods", extra=extra)
    text = (console.folder / "wakeful.toml").read_text()
    console.write("wakeful.toml", text.replace("replay:", "repaly:").replace("tools:*", "toools:*"))
    done = console.run("run", "desk", "Hello")
    assert done.code == 2
    assert [line.removeprefix("wakeful.toml: ").split(": ")[0] for line in done.errors] == [
        "plugins.spillover.threshold_char",
        "agents.desk.plugins.spillover.glimpse",
        "agents.desk",
        "agents.desk.model",
        "agents.desk.actions",
    ]


@pytest.mark.parametrize("url", ["oracle://host/name", "sqlite:///x.db?mode=rx", "sqlite:///x.db?timout=1"])
def test_an_address_that_means_no_database_is_told_by_its_path(console: Console, url: str) -> None:
    text = (console.folder / "wakeful.toml").read_text().replace("sqlite:///wakeful.db?timeout=0.3", url)
    console.write("wakeful.toml", text)
    done = console.run("run", "desk", "Hello")
    assert done.code == 2
    (line,) = done.errors
    assert line.startswith("wakeful.toml: store.url: ")


def test_every_problem_of_a_file_is_reported_at_once(console: Console) -> None:
    configure(console, extra='limits = { steps = "20" }\ninstrutions = "x"\n')
    done = console.run("run", "desk", "Hello", "--json")
    assert done.code == 2
    assert len(done.errors) == len(done.json["error"]["problems"]) == 2
