"""What a server offers against what was accepted, as values and as lines for a person."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping

from attrs import field, frozen

from wakeful.types import Json
from wakeful_mcp.definitions import Definition, readable, unusable

#: Longest description in a line, and most lines of one difference.
WORDS, LINES = 100, 40


@frozen
class Differences:
    """What a server offers against what was accepted.

    Args:
        accepted, offered: by the server's names.
        error: why the server could not be asked.
    """

    accepted: Mapping[str, Definition] = field(factory=dict, repr=False)
    offered: Mapping[str, Definition] = field(factory=dict, repr=False)
    error: str = ""

    @property
    def unusable(self) -> dict[str, str]:
        """Tools that cannot be given to a model, and why."""
        return {name: why for name, tool in sorted(self.offered.items()) if (why := unusable(tool))}

    @property
    def usable(self) -> dict[str, Definition]:
        """Tools that can be accepted."""
        return {name: tool for name, tool in sorted(self.offered.items()) if name not in self.unusable}

    @property
    def new(self) -> list[str]:
        """Tools that nobody has accepted."""
        return [name for name in self.usable if name not in self.accepted]

    @property
    def changed(self) -> list[str]:
        """Tools that are not what was accepted."""
        return [name for name, tool in self.usable.items() if self.accepted.get(name, tool) != tool]

    @property
    def gone(self) -> list[str]:
        """Accepted tools that are not offered any more, or cannot be used any more."""
        return [] if self.error else [name for name in sorted(self.accepted) if name not in self.usable]

    @property
    def status(self) -> str:
        """``down``, ``unaccepted``, ``changed`` or ``ok``."""
        if self.error:
            return "down"
        if not self.accepted:
            return "unaccepted"
        return "changed" if self.new or self.changed or self.gone else "ok"

    def document(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "status": self.status,
            "error": self.error,
            "new": self.new,
            "changed": self.changed,
            "gone": self.gone,
            "unusable": self.unusable,
        }

    def lines(self) -> Iterator[str]:
        """Yield it for a person: every word of what is new or changed that a model will read."""
        for name in self.new:
            yield f"  new      {name}: {_words(self.offered[name])}"
        for name in self.changed:
            yield f"  changed  {name}"
            yield from (f"    {line}" for line in _difference(self.accepted[name], self.offered[name]))
        for name in self.gone:
            yield f"  gone     {name}"
        for name, why in self.unusable.items():
            yield f"  unusable {readable(name)}: {why}"


def _words(tool: Definition) -> str:
    text = " ".join(readable(tool.description).split()) or "(no description)"
    return text if len(text) <= WORDS else f"{text[:WORDS]}… ({len(text):,} characters)"


def _difference(before: Definition, after: Definition) -> Iterator[str]:
    found = list(difflib.unified_diff(_spelt(before), _spelt(after), n=1, lineterm=""))[2:]
    yield from found[:LINES]
    if len(found) > LINES:
        yield f"… and {len(found) - LINES} more lines"


def _spelt(tool: Definition) -> list[str]:
    """Return description and schema in lines; what cannot be seen is spelt out."""
    text = "\n".join(
        line.encode("unicode_escape").decode() if line != readable(line) else line
        for line in tool.description.splitlines()
    )
    return [*text.splitlines(), *json.dumps(tool.schema, indent=1, sort_keys=True).splitlines()]
