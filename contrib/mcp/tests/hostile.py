"""An MCP server that does whatever a server should not. It needs Python alone and is run by its path.

python hostile.py [WORDS...]   where a word is a way to be difficult from the beginning:
``exit`` (ends at once, saying why), ``mute`` (never answers), ``greedy`` (lists tools without end),
``chatter`` (prints garbage around every message), ``deaf`` (stops reading after the greeting).
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORDS = set(sys.argv[1:])
TOOLS = (
    "plain",
    "structured",
    "rows",
    "image",
    "files",
    "fails",
    "crash",
    "hang",
    "huge",
    "endless",
    "wrong",
    "refuse",
    "ask",
    "environment",
    "count",
    "slow",
)
OPEN: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
lock = threading.Lock()
calls = 0


def put(value: Any) -> None:
    with lock:
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()


def text(*parts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": part} for part in parts], **more}


def listed(params: dict[str, Any]) -> dict[str, Any]:
    if "greedy" in WORDS:
        page = int(params.get("cursor") or 0)
        more = [{"name": f"tool_{page}_{n}", "inputSchema": OPEN} for n in range(100)]
        return {"tools": more, "nextCursor": str(page + 1)}
    changed = Path("changed.txt")
    said = changed.read_text() if changed.exists() else ""
    return {
        "tools": [{"name": name, "description": f"Do {name}.{said}", "inputSchema": OPEN} for name in TOOLS]
    }


def media() -> Iterator[dict[str, Any]]:
    yield {"type": "text", "text": "a picture"}
    yield {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"x" * 30_001).decode()}


def files() -> Iterator[dict[str, Any]]:
    yield {
        "type": "resource",
        "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"},
    }
    blob = base64.b64encode(b"12345").decode()
    yield {
        "type": "resource",
        "resource": {"uri": "file:///b.bin", "mimeType": "application/x", "blob": blob},
    }
    yield {"type": "resource_link", "uri": "file:///c.txt", "name": "c"}


def called(number: Any, name: str, args: dict[str, Any]) -> dict[str, Any] | None:
    global calls  # noqa: PLW0603  (the whole state of this server)
    calls += 1
    rows = [{"id": n, "name": f"row {n}"} for n in range(3)]
    if name == "crash":
        sys.stderr.write("ValueError: out of cheese\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "hang":
        return None
    if name == "slow":
        threading.Timer(0.3, put, [{"jsonrpc": "2.0", "id": number, "result": text("late")}]).start()
        return None
    if name == "endless":
        while True:
            sys.stdout.write("x" * 65_536)
    if name == "wrong":
        return {"content": "no list at all"}
    answers: dict[str, dict[str, Any]] = {
        "plain": text("one", "two"),
        "structured": text(json.dumps({"degrees": 21.5}), structuredContent={"degrees": 21.5}),
        "rows": text(*map(json.dumps, rows), structuredContent={"result": rows}),
        "image": {"content": list(media())},
        "files": {"content": list(files())},
        "fails": text("no such\ncustomer", isError=True),
        "huge": text("x" * int(args.get("n", 1_000_000))),
        "ask": {"resultType": "input_required", "inputRequests": {}},
        "environment": text("\n".join(sorted(f"{k}={v}" for k, v in os.environ.items()))),
        "count": text(f"{calls} calls of process {os.getpid()}"),
    }
    return answers[name]


def begin() -> None:
    sys.stderr.write("starting with key " + os.environ.get("SHOP_KEY", "none") + "\n")
    for _ in range(500 if "chatter" in WORDS else 0):
        sys.stderr.write("busy " * 200 + "\n")
    sys.stderr.flush()
    if "exit" in WORDS:
        sys.stderr.write("no licence for this machine\n")
        sys.exit(7)


def hear(number: Any, method: str, params: dict[str, Any]) -> None:
    about = {"jsonrpc": "2.0", "id": number}
    if method == "initialize":
        known = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        put({**about, "result": {**known, "serverInfo": {"name": "h", "version": "1"}}})
    elif method == "tools/list":
        put({**about, "result": listed(params)})
        while "deaf" in WORDS:
            time.sleep(1)
    elif method == "tools/call" and params["name"] != "refuse":
        result = called(number, params["name"], params.get("arguments") or {})
        if result is not None:
            put({**about, "result": result})
    else:
        put({**about, "error": {"code": -32601, "message": f"no {method} here"}})


def main() -> None:
    begin()
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") is None or "mute" in WORDS:
            continue
        if "chatter" in WORDS:
            with lock:
                sys.stdout.write("Listening...\n{}\n[1, 2]\n\x1b[31mred\n\n")
        hear(message["id"], message["method"], message.get("params") or {})


if __name__ == "__main__":
    main()
