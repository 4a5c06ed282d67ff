"""Printing: plain text when it is piped, tables and colour on a terminal, one JSON document on request."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from wakeful.types import Json

#: Spaces between the columns of a plain table.
GAP = "  "
_RED = "\x1b[31m{}\x1b[0m"
_DIM = "\x1b[2m{}\x1b[0m"
#: What moves the cursor, colours or erases; texts from outside must not do that to a terminal.
_CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}"
    for code in (*range(0x20), 0x7F, *range(0x80, 0xA0))
    if chr(code) not in "\n\t"
}


def prepare_streams() -> None:
    """Make the streams replace what the terminal cannot show instead of failing."""
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def terminal(stream: TextIO) -> bool:
    """Whether a person looks at ``stream``."""
    return stream.isatty()


def visible(text: str) -> str:
    """Return ``text`` with control characters replaced, line ends and tabs kept."""
    return text.replace("\r\n", "\n").translate(_CONTROLS)


def put(text: str, stream: TextIO) -> None:
    """Write ``text`` as it is, at once."""
    stream.write(text)
    stream.flush()


def say(text: str = "") -> None:
    """Print a line of the command's result."""
    put(f"{visible(text)}\n", sys.stdout)


def note(text: str, *, red: bool = False, dim: bool = False) -> None:
    """Print a line beside the result, to standard error; ``red`` and ``dim`` show on a terminal."""
    line = visible(text)
    if (red or dim) and coloured(sys.stderr):
        line = (_RED if red else _DIM).format(line)
    put(f"{line}\n", sys.stderr)


def coloured(stream: TextIO) -> bool:
    """Whether ``stream`` should show colour; the environment variable ``NO_COLOR`` says no."""
    return terminal(stream) and not os.environ.get("NO_COLOR")


def red(text: str) -> str:
    """Return ``text`` in red if standard output shows colour."""
    return _RED.format(visible(text)) if coloured(sys.stdout) else visible(text)


def say_red(text: str) -> None:
    """Print a line of the result that should not be missed."""
    put(f"{red(text)}\n", sys.stdout)


def say_json(value: object) -> None:
    """Print the one JSON document of a command."""
    # Escapes where the stream is no UTF-8: replaced characters would be another document.
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    put(f"{json.dumps(plain(value), indent=2, ensure_ascii=not utf8)}\n", sys.stdout)


def plain(value: Any) -> Json:
    """Return a value of wakeful as JSON: attrs classes become objects, times ISO text, trust its label."""
    import attrs

    from wakeful.types import Trust

    if isinstance(value, Trust):
        return value.label
    if isinstance(value, Enum):
        return value.value
    if attrs.has(type(value)):
        return {f.name: plain(getattr(value, f.name)) for f in attrs.fields(type(value)) if f.name[0] != "_"}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [plain(item) for item in items]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str | int | float | bool | None):
        return value
    return str(value) if isinstance(value, Path) else repr(value)


def say_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, indent: int = 0) -> None:
    """Print a table: aligned columns when piped, drawn on a terminal."""
    if terminal(sys.stdout):
        _drawn(headers, rows, indent)
        return
    lines = [[_cell(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        put(f"{' ' * indent}{GAP.join(padded).rstrip()}\n", sys.stdout)


def _drawn(headers: Sequence[str], rows: Sequence[Sequence[str]], indent: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(*headers, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(_cell(cell)) for cell in row))
    Console().print(Padding(table, (0, 0, 0, indent)))


def _cell(text: str) -> str:
    return " ".join(visible(text).split())


def short(text: str, limit: int) -> str:
    """Return ``text`` in one line of at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
