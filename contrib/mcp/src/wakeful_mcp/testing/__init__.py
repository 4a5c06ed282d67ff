"""For tests: a real MCP server with as many tools as wanted, in a process that starts at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from wakeful.types import Json

__all__ = ["PROGRAM", "command", "offer"]

#: The server's program. It needs Python alone, so it is run by its path.
PROGRAM = Path(__file__).with_name("server.py")


def offer(file: Path, tools: Sequence[Mapping[str, Json]]) -> None:
    """Write the tools of a server, e.g. ``wakeful.testing.catalogue.tools(120)``; also while it runs.

    Args:
        file: where the server looks whenever its tools are listed.
        tools: each with ``name``, ``description`` and ``inputSchema``.
    """
    aside = file.with_suffix(".new")
    aside.write_text(json.dumps(list(tools)), encoding="utf-8")
    aside.replace(file)


def command(file: Path, *, http: bool = False, port: int = 0) -> list[str]:
    """Return the command that runs a server.

    Args:
        file: with its tools, see :func:`offer`.
        http: serve on 127.0.0.1 instead of standard input and output; the first line on standard output is
            then the address.
        port: for HTTP; 0 is a free one.
    """
    return [sys.executable, str(PROGRAM), str(file), *(["--http", str(port)] if http else [])]
