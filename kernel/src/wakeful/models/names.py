"""Names and ids in the form that providers take: a model may make up any, and history repeats them."""

from __future__ import annotations

import re

from wakeful.types import digest

#: Longest name of a tool that Anthropic and OpenAI take; their references: ``^[a-zA-Z0-9_-]{1,64}$``.
NAME_LIMIT = 64

_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


def within(name: str, limit: int = 0) -> str:
    """Return ``name`` in the characters that providers take; a changed one keeps a digest of what it was.

    Args:
        name: of a tool, or an id.
        limit: most characters; 0 for any number.
    """
    if name and not _FOREIGN.search(name) and not (limit and len(name) > limit):
        return name
    mark = "_" + digest(name)[:8]
    plain = _FOREIGN.sub("_", name)
    return (plain[: limit - len(mark)] if limit else plain) + mark
