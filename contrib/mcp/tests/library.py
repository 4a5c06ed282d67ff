"""A server made with the library, with sessions and streams: ``python library.py PORT [DESCRIPTION]``."""

from __future__ import annotations

import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("library")
DESCRIPTION = sys.argv[2] if len(sys.argv) > 2 else "Add two numbers."


@server.tool(description=DESCRIPTION)
def add(a: int, b: int) -> int:
    return a + b


def main() -> None:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", int(sys.argv[1])))
    listening.listen()  # from now on connections wait until it serves them
    sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
