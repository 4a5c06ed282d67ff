"""For tests: a real MCP server with as many generated tools as wanted, in a process that starts at once."""

from __future__ import annotations

import sys
from pathlib import Path

from wakeful_mcp.testing.server import generated

__all__ = ["PROGRAM", "command", "generated"]

#: The server's program. It needs Python alone, so it is run by its path.
PROGRAM = Path(__file__).with_name("server.py")


def command(tools: int = 120, *, http: bool = False, changes: Path | None = None) -> list[str]:
    """Return the command that runs the generated server.

    Args:
        tools: how many tools it has.
        http: serve on a free port of 127.0.0.1 instead of standard input and output; the first line on
            standard output is then the address.
        changes: a JSON file that is looked at whenever tools are listed: ``{"name": {"description": "…"}}``
            replaces parts of a tool, ``{"name": null}`` removes it.
    """
    made = [sys.executable, str(PROGRAM), "--tools", str(tools)]
    made += ["--http"] if http else []
    return made + (["--changes", str(changes)] if changes else [])
