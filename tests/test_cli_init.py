"""What ``wakeful init`` writes works at once."""

from __future__ import annotations

from pathlib import Path

from tests.cli import Console


def test_a_first_project_talks_and_is_healthy(tmp_path: Path) -> None:
    console = Console(tmp_path)
    assert console.run("init").code == 0
    done = console.run("run", "assistant", "Hello", "--json")
    assert done.code == 0
    assert [one["action"] for one in done.json["actions"]] == ["days_until"]
    assert done.json["text"].startswith("Hello! I am an agent made of a script")
    talked = console.run("chat", "assistant", "--quiet", given="Hello\nAnd then?\n")
    assert (talked.code, talked.err) == (0, "")
    assert len(talked.out.splitlines()) == 2
    assert console.run("doctor").code == 0
    assert console.run("db", "check").code == 0


def test_every_command_explains_itself(tmp_path: Path) -> None:
    console = Console(tmp_path)
    for command in ("init", "run", "chat", "plugins", "doctor", "runs list", "plugin new", "db check"):
        done = console.run(*command.split(), "--help")
        assert done.code == 0
        assert done.out.startswith(f"Usage: wakeful {command} [OPTIONS]")
        assert "--json" in done.out
