"""An MCP server with generated tools, written against the protocol: it needs the standard library alone.

    python server.py [--tools 120] [--http] [--changes FILE]

Its tools are those of an imaginary company: applications, each with the usual verbs over its things. Every
tool answers with what it was called with. ``tools/list`` comes in pages.
"""

from __future__ import annotations

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any

#: Tools on one page of the list.
PAGE = 50
VERSION = "2025-06-18"
#: Application, its things, and what it is for.
APPLICATIONS = (
    ("crm", ("contact", "company", "deal"), "the customer database"),
    ("billing", ("invoice", "credit_note", "payment"), "the accounts"),
    ("calendar", ("meeting", "room", "holiday"), "the shared calendar"),
    ("helpdesk", ("ticket", "macro", "survey"), "customer support"),
    ("warehouse", ("parcel", "pallet", "stock_level"), "storage and shipping"),
    ("payroll", ("payslip", "bonus", "expense"), "salaries and expenses"),
    ("wiki", ("page", "template", "comment"), "the internal handbook"),
    ("deploy", ("release", "server", "certificate"), "software in operation"),
)
#: Verb, what it does, whether it only reads, and the parameters it takes beside the key.
VERBS: tuple[tuple[str, str, bool, tuple[str, ...]], ...] = (
    ("find", "Find every {thing} of {purpose} by words, dates or owner", True, ("query", "since", "limit")),
    ("get", "Get one {thing} of {purpose} by its number, with its whole history", True, ("number",)),
    (
        "create",
        "Create a new {thing} in {purpose} and return its number",
        False,
        ("title", "owner", "due", "labels"),
    ),
    (
        "update",
        "Change fields of a {thing} in {purpose}; what is not given stays",
        False,
        ("number", "title", "owner"),
    ),
    ("archive", "Archive a {thing} of {purpose}, so that it is no longer found", False, ("number", "reason")),
)
PARAMETERS: dict[str, dict[str, Any]] = {
    "query": {"type": "string", "description": "Words to look for; all of them must occur, in any order."},
    "since": {"type": "string", "format": "date", "description": "Only what changed on this day or later."},
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": 500,
        "description": "Most entries to return, 50 if left out.",
    },
    "number": {"type": "string", "description": "The number, as other tools return it, e.g. AB-1204."},
    "title": {"type": "string", "description": "A short title that people will recognise in a list."},
    "owner": {"type": "string", "description": "E-mail address of the person who is responsible for it."},
    "due": {"type": "string", "format": "date", "description": "The day on which it has to be done."},
    "labels": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Labels to file it under; new ones are made.",
    },
    "reason": {"type": "string", "description": "Why; it is kept with the entry and shown to its owner."},
}
_NEEDED = {"number", "query", "title"}


def generated(count: int = 120) -> list[dict[str, Any]]:
    """Return the first ``count`` tools, the same ones in every process; beyond 120 they have numbers."""
    tools: list[dict[str, Any]] = []
    series = 1
    while len(tools) < count:
        for (application, things, purpose), place, verb in product(APPLICATIONS, range(3), VERBS):
            tools.append(_tool(application, things[place], purpose, verb, series))
        series += 1
    return tools[:count]


def _tool(
    application: str, thing: str, purpose: str, verb: tuple[str, str, bool, tuple[str, ...]], series: int
) -> dict[str, Any]:
    name, text, reads, parameters = verb
    number = "" if series == 1 else f"_{series}"
    words = text.format(thing=thing.replace("_", " "), purpose=purpose)
    return {
        "name": f"{application}_{name}_{thing}{number}",
        "description": f"{words}. Fails if the caller has no right to the {application} application.",
        "inputSchema": {
            "type": "object",
            "properties": {key: PARAMETERS[key] for key in parameters},
            "required": sorted(_NEEDED & set(parameters)),
        },
        "annotations": {"readOnlyHint": reads},
    }


class Server:
    """Answers messages of the protocol.

    Args:
        count: of tools.
        changes: file with changes of the list, or None.
    """

    def __init__(self, count: int, changes: Path | None) -> None:
        self._tools, self._changes = generated(count), changes

    def tools(self) -> list[dict[str, Any]]:
        """Return the list as it is now."""
        changes = {}
        if self._changes and self._changes.exists():
            changes = json.loads(self._changes.read_text(encoding="utf-8"))
        kept = [tool for tool in self._tools if changes.get(tool["name"], {}) is not None]
        return [{**tool, **changes.get(tool["name"], {})} for tool in kept]

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


def serve(server: Server) -> None:
    """Serve HTTP on a free port of 127.0.0.1; the address is printed."""

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

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"http://127.0.0.1:{web.server_port}/mcp\n")
    sys.stdout.flush()
    web.serve_forever()


def main() -> None:
    """Serve until the input ends or the process is ended."""
    parser = argparse.ArgumentParser(description="An MCP server with generated tools.")
    parser.add_argument("--tools", type=int, default=120)
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--changes", type=Path)
    given = parser.parse_args()
    (serve if given.http else speak)(Server(given.tools, given.changes))


if __name__ == "__main__":
    main()
