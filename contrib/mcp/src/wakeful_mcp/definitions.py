"""A tool as its server describes it: its hash, what of it can be used, and what a model is shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from wakeful.types import Json, canonical, canonicalise, clean, digest

#: Names of arguments that every provider takes.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
#: Keywords that providers refuse at the root of a schema.
_NOT_AT_ROOT = ("allOf", "anyOf", "oneOf", "not", "enum", "$ref")
#: Longest name of a tool; the protocol's own limit is 128.
NAME_LIMIT = 128
#: Largest definition in characters of JSON; one tool must not fill a context.
DEFINITION_LIMIT = 50_000
#: The hints that say something about effects; the others are for display.
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


@frozen
class Definition:
    """A tool as its server describes it.

    Args:
        name: the server's name of it.
        description: the server's words, unchanged.
        schema: JSON schema of its arguments.
        hints: what the server says about its effects; only what it says explicitly.
    """

    name: str
    description: str = ""
    schema: Json = field(factory=dict, converter=canonicalise)
    hints: Mapping[str, bool] = field(factory=dict, eq=False)

    @property
    def sha256(self) -> str:
        """The hash over name, description and schema."""
        return digest(canonical([self.name, self.description, self.schema]))

    def dump(self) -> dict[str, Json]:
        """Return it as the lock file holds it."""
        return {
            "sha256": self.sha256,
            "description": self.description,
            "schema": self.schema,
            "hints": {name: self.hints[name] for name in HINTS if name in self.hints},
        }


def defined(name: Json, description: Json, schema: Json, hints: Mapping[str, Json]) -> Definition:
    """Return the definition of what a server, or the lock file, says.

    Raises:
        ValueError: it is not what a tool looks like.
    """
    # A name stands in headings and on cards, where a line break would let it write lines of its own.
    if not isinstance(name, str) or not name.strip() or len(name) > NAME_LIMIT or not name.isprintable():
        message = f"{str(name)[:40]!r} is no name of a tool"
        raise ValueError(message)
    fits = isinstance(description, str | None) and isinstance(schema, Mapping)
    if not fits:
        message = f"tool {name!r}: expected a text as its description and an object as its schema"
        raise ValueError(message)
    said = {key: hints[key] for key in HINTS if isinstance(hints.get(key), bool)}
    return Definition(clean(name), clean(description or ""), clean(dict(schema)), said)


def unusable(definition: Definition) -> str:
    """Return why a tool cannot be given to a model, empty if it can.

    One tool that a provider refuses would fail every request of the agent.
    """
    schema = definition.schema
    if len(canonical(definition.dump())) > DEFINITION_LIMIT:
        return f"its definition has more than {DEFINITION_LIMIT:,} characters"
    if schema.get("type", "object") != "object":
        return f"its schema is of type {schema['type']!r}, not 'object'"
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        return "'properties' of its schema is not an object"
    root = [key for key in _NOT_AT_ROOT if key in schema]
    if root:
        return f"its schema has {root[0]!r} at its root, which providers refuse"
    wrong = [name for name in properties if not _ARGUMENT.fullmatch(name)]
    if wrong:
        return f"its argument {wrong[0][:40]!r} has a name that providers refuse"
    return ""


def readable(text: str) -> str:
    """Return a text from outside without what a person cannot see and a model can read.

    Format characters (zero-width, bidirectional, tags) and control characters but tab and line end go.
    """
    if text.isascii() and text.isprintable():
        return text
    kept = (
        char for char in text if char in "\t\n" or unicodedata.category(char) not in {"Cc", "Cf", "Co", "Cn"}
    )
    return "".join(kept)


def readable_schema(schema: Any) -> Any:
    """Return a schema whose texts (``description``, ``title``) are :func:`readable`."""
    if isinstance(schema, Mapping):
        return {
            key: readable(part)
            if key in {"description", "title"} and isinstance(part, str)
            else readable_schema(part)
            for key, part in schema.items()
        }
    if isinstance(schema, list):
        return [readable_schema(part) for part in schema]
    return schema
