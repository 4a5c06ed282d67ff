"""One thing that is broken leaves the rest alone, and what is not foreseen is still one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import Console
from tests.desk import broken_plugin, configure, project


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return project(tmp_path)


def test_a_broken_agent_does_not_stop_the_others(console: Console) -> None:
    broken_plugin(console)
    healthy = '\n[agents.other]\nmodel = "replay:script.jsonl"\nplugins = { disable = ["broken"] }\n'
    configure(console, "broken", extra=healthy)
    assert console.run("run", "other", "Hello", "--quiet").out == "Forty-two.\n"
    assert console.run("run", "desk", "Hello").code == 2
    done = console.run("doctor")
    assert done.code == 2
    assert "agent desk: cannot be built" in done.out
    assert "agent other\n" in done.out


def test_a_plugin_can_be_left_out_from_outside(console: Console) -> None:
    broken_plugin(console)
    console.env["WAKEFUL_DISABLE"] = "broken"
    assert console.run("run", "desk", "Hello", "--quiet").out == "Forty-two.\n"
    assert "WAKEFUL_DISABLE leaves out: broken" in console.run("doctor").out


def test_what_is_not_foreseen_is_one_line_and_shows_where_on_request(console: Console) -> None:
    source = "def fail(json: bool = False):\n    raise KeyError('surprise')\n"
    console.install("wk_command", source, {"fail": "fail"}, group="wakeful.commands")
    done = console.run("fail", "--json")
    assert (done.code, done.errors) == (1, ["unexpected KeyError: 'surprise' (--traceback shows where)"])
    assert done.json["error"]["type"] == "KeyError"
    assert "Traceback" not in done.err
    shown = console.run("--traceback", "fail")
    assert "Traceback" in shown.err
    assert "wk_command.py" in shown.err
