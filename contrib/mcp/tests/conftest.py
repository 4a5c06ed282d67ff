from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from contrib.mcp.tests.hostile import OPEN, TOOLS
from wakeful import Agent
from wakeful.cli.main import main
from wakeful.testing import ScriptedModel, say
from wakeful.testing.processes import children
from wakeful_mcp.definitions import Definition
from wakeful_mcp.lock import Lock, read_lock

HOSTILE = Path(__file__).with_name("hostile.py")


@pytest.fixture(autouse=True)
def _no_process_stays() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before, "a server outlived its application"


@define
class Desk:
    """An agent with MCP servers, in the folder of the test."""

    folder: Path
    servers: dict[str, dict[str, Any]] = field(factory=dict)

    def server(self, name: str, *command: str, **settings: Any) -> None:
        """Configure a server; without a command it has an address in ``settings``."""
        started = {"command": command[0], "args": list(command[1:])} if command else {}
        self.servers[name] = {**started, **settings}

    def hostile(self, *words: str, **settings: Any) -> None:
        """Configure the hostile server under the name ``h``."""
        self.server("h", sys.executable, str(HOSTILE), *words, **settings)

    def pin(self, server: str, tools: Mapping[str, Any]) -> None:
        """Write accepted tools without asking the server."""
        lock = read_lock(self.folder / "mcp.lock.json")
        lock.replaced(server, tools).write()

    def lock(self) -> Lock:
        return read_lock(self.folder / "mcp.lock.json")

    def command(self, *args: str) -> int:
        """Run ``wakeful mcp`` over these servers and return its exit code."""
        from wakeful.testing.checks import toml

        text = '[agents.agent]\nmodel = "scripted:any"\nplugins.enable = ["mcp"]\n'
        for name, settings in self.servers.items():
            text += f"[agents.agent.plugins.mcp.servers.{name}]\n"
            text += "".join(f"{key} = {toml(value)}\n" for key, value in settings.items())
        file = self.folder / "wakeful.toml"
        file.write_text(text, encoding="utf-8")
        return main(["mcp", *args, "--file", str(file)])

    def agent(self, *calls: Any, **more: Any) -> Agent:
        """Return an agent whose model makes each of the calls in a step of its own; a text ends a turn."""
        lines = [
            say(call) if isinstance(call, str) else say(calls=[call] if isinstance(call, tuple) else call)
            for call in calls
        ]
        return Agent(
            model=ScriptedModel([*lines, "Done."]),
            plugins=["mcp", *more.pop("plugins", ())],
            settings={"mcp": {"servers": self.servers}},
            folder=self.folder,
            **more,
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Give an agent with MCP servers that are yet to be configured."""
    return Desk(tmp_path)


@pytest.fixture
def hostile(desk: Desk) -> Callable[..., Desk]:
    """Give the agent with the hostile server, whose usual tools are accepted."""

    def make(*words: str, **settings: Any) -> Desk:
        desk.hostile(*words, **settings)
        desk.pin("h", {name: Definition(name, f"Do {name}.", OPEN) for name in TOOLS})
        return desk

    return make


@pytest.fixture
def web() -> Iterator[Callable[..., tuple[str, subprocess.Popen[str]]]]:
    """Give the start of a server over HTTP: a command that prints its address first."""
    running: list[subprocess.Popen[str]] = []

    def start(*command: str) -> tuple[str, subprocess.Popen[str]]:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        return process.stdout.readline().strip(), process

    yield start
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
