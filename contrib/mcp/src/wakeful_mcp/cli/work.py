"""What the commands do: look at the lock file, ask the servers, write the lock file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from wakeful.cli.exits import Exit
from wakeful.cli.log import log_lines
from wakeful.cli.output import say, say_json, say_red, say_table
from wakeful.system import SystemClock
from wakeful.types import Json, WakefulError, nearest
from wakeful_mcp.actions import Pinned, names
from wakeful_mcp.cli.configured import Configured, Use, configured
from wakeful_mcp.cli.differences import Differences
from wakeful_mcp.definitions import Definition, readable
from wakeful_mcp.lock import Lock, read_lock
from wakeful_mcp.plugin import masker
from wakeful_mcp.server import DownError, Hub

#: Digits of a hash that are printed.
HASH = 12
#: Longest description in a table, in characters.
WORDS = 60


def show(file: Path, servers: Sequence[str], *, as_json: bool) -> int:
    """Print what was accepted of each server, as each agent gets it."""
    found = configured(file, servers)
    lock = read_lock(found.lock)
    rows = [row for server, uses in found.servers.items() for use in uses for row in _rows(lock, server, use)]
    if as_json:
        document = {
            server: {
                "kind": uses[0].setup.kind,
                "agents": {use.agent: {"trust": use.settings.trust} for use in uses},
                "tools": [row for row in rows if row["server"] == server],
            }
            for server, uses in found.servers.items()
        }
        say_json({"lock": str(found.lock), "servers": document})
        return Exit.OK
    for server, uses in found.servers.items():
        agents = ", ".join(f"{use.agent} ({use.settings.trust})" for use in uses)
        count = len(lock.of(server))
        say(f"{server}: {uses[0].setup.kind}, {count} tool{'s' * (count != 1)} accepted, for {agents}")
        if not count:
            say_red(f"  nothing was accepted yet: run `wakeful mcp accept {server}`")
    if rows:
        cells = [
            [row["agent"], row["tool_name"], row["effect"], row["sha256"][:HASH], row["description"][:WORDS]]
            for row in rows
        ]
        say()
        say_table(["agent", "tool", "effect", "sha256", "description"], cells)
    return Exit.OK


def _rows(lock: Lock, server: str, use: Use) -> list[dict[str, str]]:
    tools = [Pinned(server, definition, use.settings) for definition in lock.of(server).values()]
    called = names(tools)
    return [
        {
            "agent": use.agent,
            "server": server,
            "name": tool.definition.name,
            "tool_name": called[server, tool.definition.name][1],
            "effect": tool.effect.value,
            "sha256": tool.definition.sha256,
            "description": " ".join(readable(tool.definition.description).split()),
        }
        for tool in tools
    ]


def compare(file: Path, servers: Sequence[str], *, as_json: bool) -> int:
    """Print how what the servers offer differs from what was accepted; 1 if anything does."""
    found = configured(file, servers)
    differences = _asked(found, read_lock(found.lock))
    if as_json:
        say_json(
            {
                "lock": str(found.lock),
                "servers": {name: each.document() for name, each in differences.items()},
            }
        )
    else:
        for name, each in differences.items():
            line = f"{name}: {_STATUS[each.status].format(count=len(each.offered), error=each.error)}"
            (say if each.status == "ok" else say_red)(line)
            for text in each.lines():
                say(text)
    return Exit.OK if all(each.status == "ok" for each in differences.values()) else Exit.RUN_FAILED


_STATUS = {
    "ok": "its {count} tools are as accepted",
    "changed": "not as accepted; `wakeful mcp accept` takes it as it is now",
    "unaccepted": "nothing was accepted yet; tools it offers: {count}",
    "down": "cannot be reached: {error}",
}


def take(file: Path, servers: Sequence[str], tools: Sequence[str], *, as_json: bool) -> int:
    """Accept what the servers offer, print what that is, and write the lock file.

    Raises:
        WakefulError: a server cannot be reached, or `--tool` names what it does not offer; nothing is
            written.
    """
    found = configured(file, servers)
    if tools and len(found.servers) != 1:
        message = "--tool needs the name of one server"
        raise WakefulError(message)
    lock = read_lock(found.lock)
    differences = _asked(found, lock)
    for name, each in differences.items():
        if each.error:
            message = f"MCP server {name!r} cannot be reached: {each.error}; nothing was accepted"
            raise WakefulError(message)
        lock = lock.replaced(name, _chosen(name, each, tools))
    try:
        lock.write()
    except OSError as error:
        message = f"{found.lock.name} cannot be written: {error.strerror}"
        raise WakefulError(message) from error
    if as_json:
        document: dict[str, Json] = {
            name: {**each.document(), "accepted": sorted(lock.of(name))} for name, each in differences.items()
        }
        say_json({"lock": str(found.lock), "servers": document})
        return Exit.OK
    for name, each in differences.items():
        count = len(lock.of(name))
        say(f"{name}: {count} tool{'s' * (count != 1)} accepted in {found.lock.name}")
        for line in each.lines():
            say(line)
    return Exit.OK


def _chosen(server: str, each: Differences, tools: Sequence[str]) -> Mapping[str, Definition]:
    """Return what is accepted of a server from now on."""
    if not tools:
        return each.usable
    for tool in tools:
        if tool in each.unusable:
            message = f"tool {tool!r} of {server!r} cannot be used: {each.unusable[tool]}"
            raise WakefulError(message)
        if tool not in each.usable and tool not in each.gone:
            message = f"MCP server {server!r} offers no tool {tool!r}{nearest(tool, each.usable)}"
            raise WakefulError(message)
    kept = {name: tool for name, tool in each.accepted.items() if name not in tools}
    return kept | {name: each.usable[name] for name in tools if name in each.usable}


def _asked(found: Configured, lock: Lock) -> dict[str, Differences]:
    """Ask all servers at once."""

    async def work() -> list[Differences]:
        hub = Hub(SystemClock())
        try:
            return await asyncio.gather(*(_differences(hub, found, lock, name) for name in found.servers))
        finally:
            await hub.stop()

    with log_lines(lambda _: None):  # why a server is down is said once, below
        return dict(zip(found.servers, asyncio.run(work()), strict=True))


async def _differences(hub: Hub, found: Configured, lock: Lock, name: str) -> Differences:
    offered: Mapping[str, Definition] | None = None
    for setup in found.setups(name):
        try:
            tools = await hub.of(setup, masker(setup, found.secrets)).tools()
        except DownError as error:
            return Differences(lock.of(name), {}, str(error))
        if offered is not None and dict(offered) != dict(tools):
            what = "agents reach different servers under this name; give each its own"
            return Differences(lock.of(name), {}, what)
        offered = tools
    return Differences(lock.of(name), offered or {})
