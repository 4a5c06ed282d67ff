from __future__ import annotations

import sys
from pathlib import Path

from contrib.mcp.tests.conftest import HOSTILE
from wakeful.testing import PluginConformance
from wakeful.testing.catalogue import tools
from wakeful_mcp.definitions import Definition
from wakeful_mcp.lock import Lock


def accept(folder: Path) -> None:
    shop = {
        tool["name"]: Definition(tool["name"], tool["description"], tool["inputSchema"]) for tool in tools()
    }
    lock = Lock(folder / "mcp.lock.json").replaced("shop", shop)
    lock.replaced("odd", {"名前": Definition("名前"), "getItem": Definition("getItem", "x" * 5000)}).write()


class TestMcp(PluginConformance):
    plugin = "mcp"
    settings = {
        "servers": {
            "shop": {"command": "no-such-program", "effect": "read"},
            "odd": {"command": sys.executable, "args": [str(HOSTILE)], "trust": "semi_trusted"},
            "web": {"url": "https://example.invalid/mcp", "headers": {"X-Key": "k"}},
        }
    }

    def prepare(self, folder: Path) -> None:
        accept(folder)
