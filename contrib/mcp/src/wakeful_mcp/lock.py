"""The lock file: the tools of each server as a person accepted them.

Agents are built from this file alone. So the same agent declares the same tools in every process, whether
or not its servers run, and what a server says later changes nothing until somebody accepts it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from wakeful.types import ConfigError, Json, Problem
from wakeful_mcp.definitions import Definition, defined

#: Version of the file's form.
VERSION = 1
_ADVICE = "restore it, or remove it and run `wakeful mcp accept`"

#: Server to its accepted tools, by the server's names of them.
Pins = Mapping[str, Mapping[str, Definition]]


@frozen
class Lock:
    """The file and what it holds.

    Args:
        path: where it is.
        pins: server to name to definition.
    """

    path: Path
    pins: Pins = field(factory=dict)

    def of(self, server: str) -> Mapping[str, Definition]:
        """Return the accepted tools of a server, sorted by name."""
        return self.pins.get(server, {})

    def replaced(self, server: str, tools: Mapping[str, Definition]) -> Lock:
        """Return the lock with other tools of one server."""
        pins = {**self.pins, server: tools}
        return Lock(
            self.path, {name: dict(sorted(pins[name].items())) for name in sorted(pins) if pins[name]}
        )

    def write(self) -> None:
        """Write the file whole, or not at all.

        Raises:
            OSError: it cannot be written.
        """
        servers = {
            server: {"tools": {name: tool.dump() for name, tool in sorted(tools.items())}}
            for server, tools in sorted(self.pins.items())
        }
        text = json.dumps(
            {"version": VERSION, "servers": servers}, indent=2, sort_keys=True, ensure_ascii=False
        )
        handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{text}\n")
            Path(temporary).chmod(0o644)
            Path(temporary).replace(self.path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def read_lock(path: Path) -> Lock:
    """Return what a lock file holds; a file that is not there holds nothing.

    Raises:
        ConfigError: it cannot be read, or was changed by hand.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Lock(path)
    except (OSError, ValueError) as error:
        raise _wrong(path, f"cannot be read ({type(error).__name__}); {_ADVICE}") from error
    if not isinstance(raw, dict) or raw.get("version") != VERSION or not isinstance(raw.get("servers"), dict):
        raise _wrong(path, f"is no lock file of version {VERSION}; {_ADVICE}")
    return Lock(
        path, {server: _tools(path, server, entry) for server, entry in sorted(raw["servers"].items())}
    )


def _tools(path: Path, server: str, entry: Json) -> dict[str, Definition]:
    tools: dict[str, Definition] = {}
    try:
        for name, held in sorted(entry["tools"].items()):
            tool = defined(name, held["description"], held["schema"], held["hints"])
            if tool.sha256 != held["sha256"]:
                what = f"tool {name!r} of server {server!r} was changed by hand; {_ADVICE}"
                raise _wrong(path, what)
            tools[name] = tool
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"the entry of server {server!r} cannot be read ({type(error).__name__}: {error}); {_ADVICE}"
        raise _wrong(path, what) from error
    return tools


def _wrong(path: Path, what: str) -> ConfigError:
    return ConfigError([Problem(path.name, what)])
