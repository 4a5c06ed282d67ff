"""An MCP server whose tools stand in a file, written against the protocol; it needs Python alone.

    python server.py TOOLS.json [--http [PORT]]

The file holds a list of tools as the protocol has them. It is read whenever they are listed, so a test may
change it. Tools answer with what they were called with; ``tools/list`` comes in pages.
"""

from __future__ import annotations

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

#: Tools on one page of the list.
PAGE = 50
VERSION = "2025-06-18"


class Server:
    """Answers messages of the protocol.

    Args:
        file: with the tools.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def tools(self) -> list[dict[str, Any]]:
        """Return the list as it is now."""
        tools: list[dict[str, Any]] = json.loads(self._file.read_text(encoding="utf-8"))
        return tools

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a message; None for what needs none."""
        if "id" not in message:
            return None
        about = {"jsonrpc": "2.0", "id": message["id"]}
        result = self._result(message.get("method"), message.get("params") or {})
        if result is None:
            return {**about, "error": {"code": -32601, "message": f"no method {message.get('method')!r}"}}
        return {**about, "result": result}

    def _result(self, method: str | None, params: dict[str, Any]) -> dict[str, Any] | None:
        if method == "initialize":
            about = {"name": "generated", "version": "1"}
            return {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": about}
        if method == "ping":
            return {}
        if method == "tools/list":
            begin = int(params.get("cursor") or 0)
            tools = self.tools()
            more = {"nextCursor": str(begin + PAGE)} if begin + PAGE < len(tools) else {}
            return {"tools": tools[begin : begin + PAGE], **more}
        if method == "tools/call":
            known = {tool["name"] for tool in self.tools()}
            if params["name"] not in known:
                return {"content": [{"type": "text", "text": f"no tool {params['name']}"}], "isError": True}
            done = {"tool": params["name"], "arguments": params.get("arguments") or {}}
            return {"content": [{"type": "text", "text": json.dumps(done)}], "structuredContent": done}
        return None


def speak(server: Server) -> None:
    """Serve standard input and output, a message on each line."""
    for line in sys.stdin.buffer:
        answer = server.answer(json.loads(line))
        if answer is not None:
            sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
            sys.stdout.buffer.flush()


def serve(server: Server, port: int) -> None:
    """Serve HTTP on a port of 127.0.0.1, a free one if it is 0; the address is printed."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            answer = server.answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            body = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(202 if answer is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_error(405)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
            """Print nothing."""

    web = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    sys.stdout.write(f"http://127.0.0.1:{web.server_port}/mcp\n")
    sys.stdout.flush()
    web.serve_forever()


def main() -> None:
    """Serve until the input ends or the process is ended."""
    parser = argparse.ArgumentParser(description="An MCP server whose tools stand in a file.")
    parser.add_argument("tools", type=Path, metavar="TOOLS.json")
    parser.add_argument("--http", nargs="?", type=int, const=0, metavar="PORT")
    given = parser.parse_args()
    server = Server(given.tools)
    if given.http is None:
        speak(server)
    else:
        serve(server, given.http)


if __name__ == "__main__":
    main()
