"""Google-style docstrings: the text for the model, and the text of each parameter."""

from __future__ import annotations

import inspect
import re

_ARGS = re.compile(r"^(args|arguments|parameters):\s*$", re.IGNORECASE)
_SECTION = re.compile(r"^[A-Z][A-Za-z ]*:\s*$")
_ENTRY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


def split_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """Return the docstring without its Args section, and the Args entries by name.

    An entry may name several parameters (``first, second: text``) and go on over indented lines.
    """
    if not text:
        return "", {}
    body: list[str] = []
    entries: list[str] = []
    inside = False
    for line in inspect.cleandoc(text).splitlines():
        if _ARGS.match(line):
            inside = True
        elif inside and (not line.strip() or line[0].isspace()):
            entries.append(line)
        else:
            inside = False
            body.append(line)
    prose = re.sub(r"\n{3,}", "\n\n", "\n".join(body)).strip()
    return _tidy(prose), _read_entries(entries)


def _read_entries(lines: list[str]) -> dict[str, str]:
    margin = min((_indent(line) for line in lines if line.strip()), default=0)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        entry = _ENTRY.match(line.strip()) if _indent(line) == margin else None
        if entry:
            names = [name.strip() for name in entry[1].split(",")]
            found.update(dict.fromkeys(names, entry[2].strip()))
        else:
            for name in names:
                found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _tidy(prose: str) -> str:
    """Join the lines of each paragraph that is plain text; sections and lists keep their lines."""
    paragraphs = []
    for block in prose.split("\n\n"):
        lines = block.splitlines()
        plain = all(line and not line[0].isspace() and line[0] not in "-*+" for line in lines)
        plain = plain and not (lines and _SECTION.match(lines[0]))
        paragraphs.append(" ".join(lines) if plain else block)
    return "\n\n".join(paragraphs)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
