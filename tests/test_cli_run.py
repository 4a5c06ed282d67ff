"""Turns from the command line, with a script that plays the model."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli import Console

CONFIG = """
[agents.desk]
model = "replay:script.jsonl"
actions = ["tools:*"]
"""
TOOLS = '''
import asyncio
from pathlib import Path

from wakeful import action


@action(effect="read", output_trust="trusted")
def count_customers(region: str) -> int:
    """Count customers."""
    return 42


@action(effect="read", output_trust="trusted")
async def wait_long() -> str:
    """Wait for something that never comes."""
    Path("waiting").touch()
    await asyncio.sleep(600)
    return "came"


@action(effect="write", output_trust="trusted")
def fail_badly() -> str:
    """Fail."""
    raise RuntimeError("out of paper")
'''
ASKS = json.dumps(
    {
        "text": "Let me count.",
        "calls": [{"tool": "count_customers", "args": {"region": "emea"}}],
        "usage": {"read": 100, "uncached": 20, "output": 5, "cost": 0.002},
    }
)
SAYS = json.dumps({"text": "There are 42 customers.", "usage": {"uncached": 30, "output": 6, "cost": 0.001}})


@pytest.fixture
def console(tmp_path: Path) -> Console:
    console = Console(tmp_path)
    console.write("wakeful.toml", CONFIG)
    console.write("tools.py", TOOLS)
    return console


def script(console: Console, *lines: str) -> None:
    console.write("script.jsonl", "".join(f"{line}\n" for line in lines))


def test_the_answer_goes_to_stdout_and_the_rest_to_stderr(console: Console) -> None:
    script(console, ASKS, SAYS)
    done = console.run("run", "desk", "How many?", "--user", "ana", "-c", "c-1")
    assert (done.code, done.out) == (0, "There are 42 customers.\n")
    assert 'count_customers({"region":"emea"})' in done.err
    assert "count_customers -> SUCCESS" in done.err
    assert "usage: in 150 (read 100, written 0, hit 67%), out 11 · $0.0030 · 1 action · run-" in done.err


def test_quiet_prints_the_answer_only(console: Console) -> None:
    script(console, ASKS, SAYS)
    done = console.run("run", "desk", "How many?", "--quiet")
    assert (done.code, done.out, done.err) == (0, "There are 42 customers.\n", "")


def test_json_answer_records_and_transcript_agree(console: Console) -> None:
    script(console, ASKS, SAYS)
    done = console.run("run", "desk", "How many?", "-u", "ana", "-c", "c-1", "--json")
    assert (done.code, done.err) == (0, "")
    answer = done.json
    assert answer["text"] == "There are 42 customers."
    assert (answer["status"], answer["error"], answer["conversation"]) == ("completed", None, "c-1")
    assert [(one["action"], one["success"]) for one in answer["actions"]] == [("count_customers", True)]
    shown = console.run("runs", "show", answer["run_id"], "--json").json
    assert shown["run"]["text"] == answer["text"]
    assert shown["run"]["user"] == "ana"
    assert shown["run"]["usage"] == answer["usage"]
    assert answer["usage"]["input"] == 150
    (call,) = shown["action_calls"]
    assert (call["args"], call["verdict"], call["status"]) == ({"region": "emea"}, "allow", "done")
    assert [row["kind"] for row in shown["rows"]] == ["user", "assistant", "result", "assistant"]
    assert [row["seq"] for row in shown["rows"]] == [1, 2, 3, 4]
    with sqlite3.connect(console.folder / "wakeful.db") as db:
        (text,) = db.execute("SELECT text FROM run WHERE id = ?", [answer["run_id"]]).fetchone()
    db.close()
    assert text == answer["text"]


def test_show_explains_every_step(console: Console) -> None:
    script(console, ASKS, SAYS)
    run = console.run("run", "desk", "How many?", "--json").json["run_id"]
    done = console.run("runs", "show", run)
    assert done.code == 0
    for part in (
        f"run {run}: agent desk",
        "user [1]: How many?",
        "step 1 · closed · asked replay:script.jsonl because of the user's input (prefix 1: first turn)",
        "reply, stop: calls: Let me count.",
        'call count_customers({"region":"emea"})',
        "verdict: allow · done SUCCESS",
        "result [3]:",
        "`result`: 42",
        "usage: in 120 (read 100, written 0), out 5 · $0.0020",
        "step 2 · closed · asked replay:script.jsonl because of the result of step 1",
        "answer: There are 42 customers.",
        "completed, disposition notify_user",
    ):
        assert part in done.out


def test_runs_are_listed_newest_first_and_filtered(console: Console) -> None:
    script(console, SAYS)
    first = console.run("run", "desk", "One", "--json").json["run_id"]
    second = console.run("run", "desk", "Two", "-c", "c-2", "--json").json["run_id"]
    assert [run["id"] for run in console.run("runs", "list", "--json").json["runs"]] == [second, first]
    only = console.run("runs", "list", "-c", "c-2", "--json").json["runs"]
    assert [run["id"] for run in only] == [second]
    table = console.run("runs", "list", "-n", "1").out.splitlines()
    assert table[0].split() == ["run", "agent", "started", "status", "steps", "tokens", "answer"]
    assert len(table) == 2
    assert second in table[1]


def test_a_text_can_come_from_stdin(console: Console) -> None:
    script(console, SAYS)
    answer = console.run("run", "desk", "-", "--json", given="How many?\nNow?\n").json
    shown = console.run("runs", "show", answer["run_id"], "--json").json
    assert shown["rows"][0]["items"][0]["text"] == "How many?\nNow?"


def test_nothing_to_say_is_an_error(console: Console) -> None:
    script(console, SAYS)
    done = console.run("run", "desk", "-", given=" \n")
    assert (done.code, done.errors) == (2, ["standard input: is empty; expected what to say to the agent"])


def test_a_failed_run_says_why_and_where_to_look(console: Console) -> None:
    script(console, ASKS)
    done = console.run("run", "desk", "How many?")
    assert done.code == 1
    (line,) = done.errors
    assert line.startswith("run failed: ")
    assert "script.jsonl has 1 repl" in line
    assert "wakeful runs show run-" in done.err
    assert "Traceback" not in done.err


def test_a_failed_run_in_json_has_an_error_and_the_same_code(console: Console) -> None:
    script(console, ASKS)
    done = console.run("run", "desk", "How many?", "--json")
    assert done.code == done.json["error"]["exit_code"] == 1
    assert done.json["status"] == "failed"
    assert "script.jsonl" in done.json["error"]["message"]


def test_a_limit_ends_with_the_code_of_a_failed_run(console: Console) -> None:
    script(console, ASKS, SAYS)
    console.write("wakeful.toml", CONFIG + "limits = { steps = 1 }\n")
    done = console.run("run", "desk", "How many?", "--json")
    assert (done.code, done.json["status"]) == (1, "limit_reached")


def test_an_action_that_raises_is_told_in_one_line(console: Console) -> None:
    script(console, json.dumps({"calls": [{"tool": "fail_badly"}]}), SAYS)
    done = console.run("run", "desk", "Print")
    assert done.code == 0
    assert "fail_badly -> ERROR: RuntimeError: out of paper" in done.err
    assert "note: action fail_badly failed (RuntimeError: out of paper)" in done.err
    assert "Traceback" not in done.err


def test_an_unknown_run_names_the_nearest(console: Console) -> None:
    script(console, SAYS)
    run = console.run("run", "desk", "Hi", "--json").json["run_id"]
    done = console.run("runs", "show", f"{run}x")
    assert (done.code, done.errors) == (2, [f"there is no run '{run}x'; did you mean '{run}'?"])
    assert console.run("runs", "resume", f"{run}x").code == 2


def test_resuming_a_finished_run_gives_the_answer_it_has(console: Console) -> None:
    script(console, SAYS)
    run = console.run("run", "desk", "Hi", "--json").json["run_id"]
    done = console.run("runs", "resume", run)
    assert (done.code, done.out) == (0, "There are 42 customers.\n")
    assert len(console.run("runs", "list", "--json").json["runs"]) == 1


def test_ctrl_c_cancels_the_run_and_records_it(console: Console) -> None:
    script(console, json.dumps({"calls": [{"tool": "wait_long"}]}), SAYS)
    with waiting(console, "run", "desk", "Wait") as process:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    (run,) = console.run("runs", "list", "--json").json["runs"]
    assert run["status"] == "cancelled"
    assert console.run("db", "check").code == 0


@contextmanager
def waiting(console: Console, *args: str, given: str = "") -> Iterator[subprocess.Popen[str]]:
    """Start a command and give it once its action waits."""
    with console.start(*args) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(given)
            process.stdin.flush()
            for _ in range(1200):
                if (console.folder / "waiting").exists():
                    break
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.05)
            assert (console.folder / "waiting").exists()
            yield process
        finally:
            process.kill()


def test_chat_keeps_the_conversation(console: Console) -> None:
    script(console, ASKS, SAYS, json.dumps({"text": "As I said."}))
    done = console.run("chat", "desk", given="How many?\n\n/help\nAgain?\n/exit\nnever read\n")
    assert done.code == 0
    assert done.out == "There are 42 customers.\nAs I said.\n"
    runs = console.run("runs", "list", "--json").json["runs"]
    assert [run["turn"] for run in runs] == [2, 1]
    assert len({run["conversation"] for run in runs}) == 1


def test_chat_ends_with_its_input_and_prints_one_document(console: Console) -> None:
    script(console, ASKS, SAYS)
    done = console.run("chat", "desk", "-c", "c-9", "--json", given="How many?\nAnd now?\n")
    assert done.json["conversation"] == "c-9"
    assert [turn["status"] for turn in done.json["turns"]] == ["completed", "failed"]
    assert done.code == 1


def test_ctrl_c_in_a_chat_cancels_the_turn_and_not_the_program(console: Console) -> None:
    script(console, json.dumps({"calls": [{"tool": "wait_long"}]}), SAYS)
    with waiting(console, "chat", "desk", given="Wait\n") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate("And now?\n/exit\n", timeout=30)
    assert process.returncode == 0, err
    assert out == "There are 42 customers.\n"
    assert "cancelled" in err
    runs = console.run("runs", "list", "--json").json["runs"]
    assert [run["status"] for run in runs] == ["completed", "cancelled"]


def test_a_chat_with_an_unknown_agent_ends_at_once(console: Console) -> None:
    done = console.run("chat", "dask", given="Hello\n")
    assert (done.code, done.out) == (2, "")
    assert done.errors == ["wakeful.toml: there is no agent 'dask'; did you mean 'desk'?"]


def test_text_streams_once_to_a_terminal(console: Console) -> None:
    script(console, ASKS, json.dumps({"text": "There are \u001b[31m42\u001b[0m customers."}))
    shown = on_terminal(console, "run", "desk", "How many?")
    assert shown.count("Let me count.") == 1
    assert shown.count(" customers.") == 1
    assert "\x1b[31m42" not in shown, "a model's text must not drive the terminal"


def on_terminal(console: Console, *args: str) -> str:
    """Run a command on a terminal and return what is to be seen there."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "wakeful", *args]
    env = console.environment() | {"TERM": "xterm"}
    seen: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # Linux says so when the last writer is gone
            while chunk := os.read(ours, 4096):
                seen.append(chunk)

    with subprocess.Popen(
        command, cwd=console.folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        reader = threading.Thread(target=read)
        reader.start()
        assert process.wait(60) == 0
        reader.join(10)
    os.close(ours)
    return b"".join(seen).decode()
