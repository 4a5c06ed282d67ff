"""What somebody sees who starts an agent from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import KEY

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def start(base_url: str, model: str = "claude-sonnet-5", key: str | None = KEY) -> Any:
        file = f'[agents.desk]\nmodel = "anthropic:{model}"\nretry = {{ total_s = 0 }}\n\n'
        file += f'[plugins.anthropic]\nbase_url = "{base_url}"\n'
        (tmp_path / "wakeful.toml").write_text(file, encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
        if key is not None:
            environment["ANTHROPIC_API_KEY"] = key
        command = [sys.executable, "-m", "wakeful", "run", "desk", "Hello"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
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
    done = run(wire.url)
    assert (done.returncode, "Hello yourself." in done.stdout) == (0, True), done.stderr


def test_without_a_key(run: Run) -> None:
    done = run("http://127.0.0.1:9", key=None)
    line = the_line(done)
    assert done.returncode == 2
    assert "agents.desk.model: no API key: set ANTHROPIC_API_KEY in the environment" in line


def test_with_a_wrong_key(wire: Any, run: Run) -> None:
    wire.play(["Hello."], api_key="another")
    assert "auth: anthropic:claude-sonnet-5: auth (401): invalid x-api-key" in the_line(run(wire.url))


def test_without_a_network(closed_port: str, run: Run) -> None:
    assert f"network: anthropic:claude-sonnet-5: cannot connect to {closed_port}" in the_line(
        run(closed_port)
    )


def test_with_an_unknown_model(wire: Any, run: Run) -> None:
    wire.play([{"error": {"kind": "not_found", "message": "model: claude-sonet-5"}}])
    line = the_line(run(wire.url, "claude-sonet-5"))
    assert "unknown model 'claude-sonet-5'; did you mean 'claude-sonnet-5'?" in line
    assert "not found error (404): model: claude-sonet-5" in line
