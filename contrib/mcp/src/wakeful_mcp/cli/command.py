"""``wakeful mcp``: what servers offer, what of it was accepted, and accepting it."""

from __future__ import annotations

from typing import Annotated

import typer

from wakeful.cli.extra import Commands
from wakeful.cli.options import DEFAULT_FILE, AsJson, File

mcp = typer.Typer(cls=Commands, help="Accept, list and check the tools of MCP servers.", add_completion=False)

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[SERVER]...", help="Names of servers; default: all of them.")
]


@mcp.command("list")
def list_(servers: Names = None, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Show the accepted tools with their effects; no server is asked."""
    from wakeful_mcp.cli.work import show

    return show(file, servers or [], as_json=json)


@mcp.command()
def check(servers: Names = None, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Ask the servers what they offer, and compare it with what was accepted; ends with 1 if it differs."""
    from wakeful_mcp.cli.work import compare

    return compare(file, servers or [], as_json=json)


@mcp.command()
def accept(
    servers: Names = None,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", metavar="NAME", help="Only this tool of the server; may be repeated."),
    ] = None,
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """Take what the servers offer now into the lock file, and show what is new, changed or gone."""
    from wakeful_mcp.cli.work import take

    return take(file, servers or [], tool or [], as_json=json)
