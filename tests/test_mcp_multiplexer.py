"""Hundreds of tools from MCP servers: an agent finds and runs the right one, for what a few tools cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contrib.mcp.bench.real import UnreachableError, calls, installed, page, settings, write
from wakeful.cli.main import main
from wakeful.testing.catalogue import tools
from wakeful.types import ActionEnded
from wakeful_mcp.testing import command, offer

#: Name of an agent to its provider, its model, and the multiplexer's backend; without one it declares all.
AGENTS = {
    f"{provider}_{backend}": (provider, model, backend)
    for provider, model in (("anthropic", "claude-sonnet-5"), ("openai", "gpt-5.4"))
    for backend in ("provider", "tools", "")
}
MULTIPLEXED = [name for name, (_, _, backend) in AGENTS.items() if backend]
MAKE = ("mcp_office_fleet_create_trip", {"driver": "Ana", "destination": "Riga"}, "Riga")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with three servers from the registry and one of 120 tools, all of them accepted."""
    folder = tmp_path_factory.mktemp("office")
    try:
        servers = settings(installed(folder), folder)
    except UnreachableError:
        pytest.skip("the package registry cannot be reached, from which real servers are installed")
    offer(folder / "office.json", tools())
    program, *args = command(folder / "office.json")
    servers["office"] = {"command": program, "args": args, "effect": "write"}
    file = write(folder, servers)
    assert main(["mcp", "accept", "--file", str(file), "--json"]) == 0
    return folder


@pytest.fixture(scope="module")
def address(office: Path) -> Iterator[str]:
    """Give the address of a page."""
    with page(office) as found:
        yield found


def configure(office: Path, wire: Any) -> Path:
    """Write the file with all agents, which share the servers, before the wire server."""
    servers = (office / "wakeful.toml").read_text().partition("[plugins.mcp")
    text = f'[store]\nurl = "sqlite://"\n{servers[1]}{servers[2]}'
    for name, (provider, model, backend) in AGENTS.items():
        url = wire.openai_url if provider == "openai" else wire.anthropic_url
        enabled = '"mcp", "multiplexer"' if backend else '"mcp"'
        text += f'[agents.{name}]\nmodel = "{provider}:{model}"\nplugins.enable = [{enabled}]\n'
        text += f'[agents.{name}.plugins.{provider}]\nbase_url = "{url}"\napi_key = "k"\n'
        text += 'api = "responses"\n' if provider == "openai" else ""
        text += f'[agents.{name}.plugins.multiplexer]\nbackend = "{backend}"\n' if backend else ""
    file = office / "all.toml"
    file.write_text(text)
    return file


async def test_the_right_tool_is_found_and_run(
    wire: Any, wakeful_app: Any, office: Path, address: str
) -> None:
    wanted = [*calls(office, address), MAKE]
    said = [{"calls": [{"tool": tool, "args": args}]} for tool, args, _ in wanted]
    async with wakeful_app(configure(office, wire)) as app:
        for name in MULTIPLEXED:
            assert not app.problems(name)
            assert len(app.agents[name].actions) >= 120 + 2 + 12 + 1
            wire.play([said[0], said[1], "There.", said[2], said[3], "Done."])
            ended = [
                event
                for text in ("When, and what was written?", "What does it cost? Then plan the trip.")
                async for event in app.stream(name, text, conversation=name)
                if isinstance(event, ActionEnded)
            ]
            ran = [event for event in ended if event.invocation.action.startswith("mcp_")]
            assert [event.invocation.action for event in ran] == [tool for tool, _, _ in wanted], name
            for event, (_, args, held) in zip(ran, wanted, strict=True):
                assert event.invocation.args == args
                assert event.result.success, (name, event.result)
                assert held in json.dumps(dict(event.result.outputs)), name
            assert (len(ran) < len(ended)) is name.endswith("_tools")  # by the plugin's own search
            assert len({json.dumps(request["tools"]) for request in wire.requests}) == 1
            assert wire.summary()["prefix_breaks"] == 0, wire.explain()
            assert not wire.summary().get("unreachable_tools")


async def test_declarations_cost_a_tenth_at_most(wire: Any, wakeful_app: Any, office: Path) -> None:
    told: dict[str, int] = {}
    async with wakeful_app(configure(office, wire)) as app:
        for name in AGENTS:
            wire.play(["Hi."])
            await app.send(name, "Hello", conversation=f"{name}-tokens")
            (row,) = wire.meter.rows
            told[name] = row["input_tokens"]
    for provider in ("anthropic", "openai"):
        everything = told[f"{provider}_"]
        assert everything > 15_000
        for backend in ("provider", "tools"):
            assert told[f"{provider}_{backend}"] <= 0.10 * everything, told
