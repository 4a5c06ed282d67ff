"""Install real MCP servers, each in an environment of its own, and show an agent that has their tools.

    python contrib/mcp/bench/real.py [--folder DIR]

Makes one environment for each server with uv, a git repository and a page on 127.0.0.1 for them to look at,
accepts their tools, calls one of each through the plugin, and prints what it took. It needs the registry and
no model.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import wakeful
from wakeful import Agent
from wakeful.cli.main import main as command_line
from wakeful.testing import ScriptedModel, say
from wakeful.types import ActionEnded

#: Server to what is installed.
SERVERS = {
    "time": "mcp-server-time==2026.10.19",
    "git": "mcp-server-git==2026.10.19",
    "fetch": "mcp-server-fetch==2026.10.24",
}
#: Words by which uv and pip say that they could not reach the registry, not that something is not there.
UNREACHABLE = (
    "error sending request",
    "Failed to fetch",
    "Could not connect",
    "NewConnectionError",
    "timed out",
)
#: Seconds for an environment to be made.
PATIENCE = 300


class UnreachableError(Exception):
    """The registry cannot be reached."""


def installed(folder: Path) -> dict[str, Path]:
    """Return the program of each server, installed into an environment of its own.

    Args:
        folder: where the environments go; those that are there are kept.

    Raises:
        UnreachableError: the registry cannot be reached.
    """
    with ThreadPoolExecutor() as pool:
        return dict(zip(SERVERS, pool.map(partial(_environment, folder), SERVERS), strict=True))


def _environment(folder: Path, server: str) -> Path:
    place = folder / f"env-{server}"
    program = place / "bin" / f"mcp-server-{server}"
    if program.exists():
        return program
    python, wanted = str(place / "bin" / "python"), SERVERS[server]
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        _run(folder, sys.executable, "-m", "venv", str(place))
        _run(folder, python, "-m", "pip", "install", "--quiet", wanted)
    else:
        _run(folder, uv, "venv", "--quiet", "--python", sys.executable, str(place))
        _run(folder, uv, "pip", "install", "--quiet", "--python", python, wanted)
    return program


def _run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode and any(word in done.stderr for word in UNREACHABLE):
        raise UnreachableError(command[-1])
    if done.returncode:
        message = f"{' '.join(command[:3])} failed: {done.stderr.strip()[-500:]}"
        raise RuntimeError(message)


def repository(folder: Path) -> Path:
    """Return a git repository with one commit."""
    place = folder / "repository"
    if not place.exists():
        place.mkdir()
        (place / "letter.txt").write_text("Dear Ana\n", encoding="utf-8")
        who = ("-c", "user.name=Ana", "-c", "user.email=ana@example.com")
        for words in (
            ("init", "-q"),
            ("add", "letter.txt"),
            (*who, "commit", "-q", "-m", "Write the letter to Ana"),
        ):
            subprocess.run(("git", *words), cwd=place, check=True)
    return place


@contextmanager
def page(folder: Path) -> Iterator[str]:
    """Serve a page on 127.0.0.1; gives its address."""
    (folder / "page.html").write_text(
        "<html><title>Prices</title><body><h1>Prices</h1><p>A zeppelin costs 900 euros.</p></body></html>",
        encoding="utf-8",
    )

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/page.html"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings(programs: Mapping[str, Path], folder: Path) -> dict[str, dict[str, Any]]:
    """Return the settings of the servers."""
    return {
        "time": {"command": str(programs["time"]), "args": ["--local-timezone", "UTC"], "effect": "read"},
        "git": {"command": str(programs["git"]), "args": ["--repository", str(repository(folder))]},
        "fetch": {
            "command": str(programs["fetch"]),
            "args": ["--ignore-robots-txt", "--allow-private-ips"],
            "effect": "fetch",
        },
    }


def calls(folder: Path, address: str) -> list[tuple[str, dict[str, Any], str]]:
    """Return for each server a tool, its arguments and what the result must hold."""
    zones = {"source_timezone": "Asia/Tokyo", "time": "09:30", "target_timezone": "Asia/Kolkata"}
    return [
        ("mcp_time_convert_time", zones, "06:00"),
        ("mcp_git_git_log", {"repo_path": str(repository(folder))}, "Write the letter to Ana"),
        ("mcp_fetch_fetch", {"url": address, "raw": True}, "A zeppelin costs 900 euros."),
    ]


def write(folder: Path, servers: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write ``wakeful.toml`` with the servers and return it."""
    from wakeful.testing.checks import toml

    text = '[agents.desk]\nmodel = "replay:none.jsonl"\nplugins.enable = ["mcp"]\n'
    for name, table in servers.items():
        text += f"[plugins.mcp.servers.{name}]\n"
        text += "".join(f"{key} = {toml(value)}\n" for key, value in table.items())
    file = folder / "wakeful.toml"
    file.write_text(text, encoding="utf-8")
    return file


async def _called(folder: Path, address: str, servers: Mapping[str, Any]) -> None:
    wanted = calls(folder, address)
    model = ScriptedModel([*(say(calls=[(name, args)]) for name, args, _ in wanted), "Done."])
    agent = Agent(model=model, plugins=["mcp"], settings={"mcp": {"servers": servers}}, folder=folder)
    async with wakeful.open(agent) as app:
        began = time.perf_counter()
        async for event in app.stream("agent", "Go"):
            if isinstance(event, ActionEnded):
                took, began = time.perf_counter() - began, time.perf_counter()
                said = (event.result.message or str(dict(event.result.outputs)))[:60]
                print(f"{event.invocation.action:24} {event.result.code:10} {took * 1000:6.0f} ms  {said}")


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, help="keep everything there; default: a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        servers = settings(installed(folder), folder)
        print(f"{len(SERVERS)} environments in {time.perf_counter() - began:.1f} s")
        if code := command_line(["mcp", "accept", "--file", str(write(folder, servers))]):
            return code
        with page(folder) as address:
            asyncio.run(_called(folder, address, servers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
