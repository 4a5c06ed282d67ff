"""What somebody sees who starts an agent from the command line: one clear line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KEY = "sk-proj-Zx81-not-a-real-key-4711"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def start(url: str, model: str = "gpt-5.2", key: str = '"${env:ADA_KEY}"') -> Any:
        file = f'[agents.desk]\nmodel = "openai:{model}"\nretry = {{ total_s = 0 }}\n\n[plugins.openai]\n'
        file += f'base_url = "{url}"\n' if url else ""
        file += f"api_key = {key}\n" if key else ""
        (tmp_path / "wakeful.toml").write_text(file, encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        done = subprocess.run(
            [sys.executable, "-m", "wakeful", "run", "desk", "Hello"],
            cwd=tmp_path,
            env=environment | {"ADA_KEY": KEY},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr
        assert KEY not in done.stdout + done.stderr
        return done

    return start


def the_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line that says what is wrong, joined again where the terminal folded it."""
    assert done.returncode != 0
    return " ".join((done.stderr or done.stdout).split())


def test_a_turn_through_the_command_line(wire: Any, run: Run) -> None:
    wire.play(["Hello yourself."], api_key=KEY)
    done = run(wire.openai_url)
    assert (done.returncode, "Hello yourself." in done.stdout) == (0, True), done.stderr


def test_without_a_key(run: Run) -> None:
    done = run("", key="")
    assert done.returncode == 2
    assert "no API key: set the environment variable OPENAI_API_KEY" in the_line(done)


def test_with_a_wrong_key(wire: Any, run: Run) -> None:
    wire.play(["Hello."], api_key="another")
    assert "auth: openai:gpt-5.2: auth (401): Incorrect API key provided" in the_line(run(wire.openai_url))


def test_without_a_network(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
    assert f"network: openai:gpt-5.2: cannot connect to {place}" in the_line(run(f"http://{place}/v1"))


def test_with_an_unknown_model(wire: Any, run: Run) -> None:
    wire.play([{"error": {"kind": "not_found"}}])
    line = the_line(run(wire.openai_url, "no-such-model"))
    assert "unknown model 'no-such-model'" in line
    assert "The model `no-such-model` does not exist." in line
