"""``wakeful runs cancel`` across processes, and what ``wakeful doctor`` says of the work."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.cli import Console
from tests.desk import project

WAITS = '''
import asyncio
from pathlib import Path

from wakeful import action


@action(effect="read", output_trust="trusted")
async def wait_long() -> str:
    """Wait until somebody ends it."""
    Path("waiting").touch()
    await asyncio.Event().wait()
    return ""
'''


@pytest.fixture
def console(tmp_path: Path) -> Console:
    console = project(tmp_path)
    console.write("tools.py", WAITS)
    said = [json.dumps({"calls": [{"tool": "wait_long"}]}), json.dumps({"text": "Over."})]
    console.write("script.jsonl", "\n".join(said) + "\n")
    return console


@contextmanager
def waiting(console: Console) -> Iterator[subprocess.Popen[str]]:
    """Start a turn and give its process once its action waits."""
    with console.start("run", "desk", "Wait", "-c", "c-1") as process:
        try:
            until = console.folder / "waiting"
            for _ in range(1200):
                if until.exists() or process.poll() is not None:
                    break
                try:
                    process.wait(0.05)
                except subprocess.TimeoutExpired:
                    continue
            assert until.exists()
            until.unlink()
            yield process
        finally:
            process.kill()


def the_run(console: Console) -> str:
    with closing(sqlite3.connect(console.folder / "wakeful.db")) as connection:
        run: str = connection.execute("SELECT id FROM run").fetchone()[0]
        return run


def test_a_run_of_another_process_is_cancelled(console: Console) -> None:
    with waiting(console) as process:
        run = the_run(console)
        done = console.run("runs", "cancel", run)
        assert (done.code, done.out) == (0, f"run {run}: cancelled\n")
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    again = console.run("runs", "cancel", run, "--json")
    assert (again.code, again.json) == (1, {"run": run, "cancelled": False, "status": "cancelled"})
    assert console.run("db", "check").code == 0


def test_a_run_that_was_left_behind_is_seen_and_cancelled(console: Console) -> None:
    with waiting(console) as process:
        run = the_run(console)
        process.send_signal(signal.SIGKILL)
        process.wait()
    seen = console.run("doctor", "--json").json["work"]
    assert (seen["waiting"], seen["running"], seen["dead"]) == (0, 1, 0)
    done = console.run("runs", "cancel", run)
    assert (done.code, done.out) == (0, f"run {run}: cancelled\n")
    assert console.run("doctor", "--json").json["work"]["running"] == 0
    assert console.run("db", "check").code == 0


def test_cancelling_what_is_not_there_names_the_nearest(console: Console) -> None:
    with waiting(console):
        run = the_run(console)
        done = console.run("runs", "cancel", f"{run}x")
    assert (done.code, done.errors) == (2, [f"there is no run '{run}x'; did you mean '{run}'?"])


def test_doctor_names_dead_letters_stale_leases_and_runs_adrift(console: Console) -> None:
    with waiting(console) as process:
        run = the_run(console)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert f"stale: run of {run} (item run:{run}), its process has ended" in console.run("doctor").out
    with closing(sqlite3.connect(console.folder / "wakeful.db")) as connection:
        elsewhere = "UPDATE work_item SET owner = 'elsewhere', lease_until = '2026-01-05 09:00:00.000000'"
        connection.execute(elsewhere)
        connection.commit()
    lines = console.run("doctor").out
    assert f"stale: run of {run} (item run:{run}), its process is silent since 2026-01-0" in lines
    with closing(sqlite3.connect(console.folder / "wakeful.db")) as connection:
        connection.execute("UPDATE work_item SET status = 'failed', attempts = 5, error = 'no luck'")
        connection.commit()
    lines = console.run("doctor").out
    assert f"given up: run of {run} (item run:{run}) after 5 attempts: no luck" in lines
    assert f"adrift: run {run} is marked as running and nobody will end it" in lines
    assert "0 waiting, 0 running, 1 given up" in lines
    assert console.run("runs", "cancel", run).code == 0
    work = console.run("doctor", "--json").json["work"]
    assert (work["running"], work["dead"], work["adrift"]) == (0, 0, [])


@pytest.mark.parametrize(("command", "said"), [("resume", "Over."), ("cancel", "run run-lost: cancelled")])
def test_a_dead_letter_about_a_run_that_never_began(console: Console, command: str, said: str) -> None:
    console.write("script.jsonl", json.dumps({"text": "Over."}) + "\n")
    assert console.run("run", "desk", "Hello", "-c", "c-1").code == 0
    with closing(sqlite3.connect(console.folder / "wakeful.db")) as connection:
        moment = "2026-01-05 09:00:00.000000"
        given = ("c-2", "desk", "Are you there?", "run-lost", moment)
        connection.execute(
            "INSERT INTO inbox (conversation_id, agent, text, run_id, created_at) VALUES (?, ?, ?, ?, ?)",
            given,
        )
        letter = ("run:run-lost", "run", "c-2", '{"run":"run-lost"}', moment, "failed", 5, moment, moment)
        connection.execute(
            "INSERT INTO work_item"
            " (id, kind, key, payload, not_before, status, attempts, created_at, updated_at)"
            f" VALUES ({', '.join('?' * 9)})",
            letter,
        )
        connection.commit()
    assert "`wakeful runs resume run-lost` tries again" in console.run("doctor").out
    done = console.run("runs", command, "run-lost")
    assert (done.code, done.out) == (0, f"{said}\n")
    assert console.run("doctor", "--json").json["work"]["dead"] == 0
