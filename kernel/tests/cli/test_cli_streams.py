"""Output on terminals, in pipes, in other encodings, and where nobody reads."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from attrs import frozen

from tests.cli import Console, Wakeful
from wakeful.cli.exits import Exit, of_run, table
from wakeful.cli.failures import wants, without
from wakeful.cli.output import plain, say_table, short, visible
from wakeful.cli.view import usage_line
from wakeful.types import RunStatus, Trust, Usage


def run(console: Console, *args: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "wakeful", *args]
    return subprocess.run(
        command, cwd=console.folder, env=console.environment() | env, capture_output=True, check=False
    )


def test_a_terminal_that_cannot_show_a_character_does_not_break_a_command(toy: Console) -> None:
    done = run(toy, "run", "dësk→", "Hi", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: wakeful.toml: there is no agent 'd")
    assert b"\xc3" not in done.stderr


def test_json_is_the_same_document_in_every_encoding(toy: Console) -> None:
    ascii_ = run(toy, "run", "dësk", "Hi", "--json", PYTHONIOENCODING="ascii")
    utf8 = run(toy, "run", "dësk", "Hi", "--json", PYTHONIOENCODING="utf-8")
    assert b"d\\u00ebsk" in ascii_.stdout
    assert "dësk".encode() in utf8.stdout


def test_a_reader_that_goes_away_is_no_error(toy: Console) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "wakeful", "doctor"],
        cwd=toy.folder,
        env=toy.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (141, b"")


def test_piped_output_has_no_colours(toy: Console, wakeful: Wakeful) -> None:
    toy.write("wakeful.toml", '[agents.desk]\nmodel = "toyy:any"\n')
    done = wakeful("doctor")
    assert "cannot be built" in done.out
    assert "\x1b" not in done.out + done.err


def test_control_characters_are_shown_and_not_sent() -> None:
    assert visible("a\x1b[31mb\x07\x9b\r\nc\td\x00") == "a�[31mb��\nc\td�"


def test_a_plain_table_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    say_table(("a", "bb"), [("long\nvalue", "1"), ("x", "")], indent=1)
    assert capsys.readouterr().out == " a           bb\n long value  1\n x\n"


def test_long_texts_are_cut() -> None:
    assert short("a  b\nc", 10) == "a b c"
    assert short("abcdef", 4) == "abc…"


@frozen
class Thing:
    trust: Trust
    when: datetime
    names: frozenset[str]
    inner: object


def test_values_become_json() -> None:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    thing = Thing(Trust.SEMI_TRUSTED, moment, frozenset({"b", "a"}), {1: Path("x")})
    assert plain(thing) == {
        "trust": "semi_trusted",
        "when": "2026-03-01T00:00:00+00:00",
        "names": ["a", "b"],
        "inner": {"1": "x"},
    }


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (RunStatus.COMPLETED, "", Exit.OK),
        (RunStatus.AWAITING_APPROVAL, "", Exit.OK),
        (RunStatus.CANCELLED, "", Exit.CANCELLED),
        (RunStatus.LIMIT_REACHED, "the limit of 3 steps", Exit.RUN_FAILED),
        (RunStatus.FAILED, "auth: the key was refused", Exit.MODEL),
        (RunStatus.FAILED, "refused: the model refused to answer", Exit.RUN_FAILED),
    ],
)
def test_how_a_run_ended_decides_the_exit_code(status: RunStatus, error: str, code: Exit) -> None:
    assert of_run(status, error) is code


def test_every_exit_code_is_documented() -> None:
    assert [line.split("|")[1].strip() for line in table().splitlines()[2:]] == [str(int(c)) for c in Exit]


def test_flags_are_found_before_a_double_dash_only() -> None:
    assert wants("--json", ["run", "--json"])
    assert not wants("--json", ["run", "--", "--json"])
    assert without("--t", ["--t", "a", "--t", "--", "--t"]) == ["a", "--", "--t"]


def test_the_usage_line() -> None:
    usage = Usage(read=1000, write=20, uncached=3, output=4, cost=0.5)
    assert usage_line(usage, 2, "run-1") == (
        "usage: in 1,023 (read 1,000, written 20, hit 98%), out 4 · $0.5000 · 2 actions · run-1"
    )
    guess = Usage(uncached=9, output=1, reported=False)
    assert "out 1 (not all of it reported) · cost unknown · 1 action ·" in usage_line(guess, 1, "run-1")
    assert "out 0 (not reported) · cost unknown ·" in usage_line(Usage(reported=False), 1, "run-1")
