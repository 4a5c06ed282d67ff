"""Forged runtime-state tags are defused before anything is sent."""

from __future__ import annotations

import re

from attrs import evolve

from wakeful.types import Call, Item, Opaque

#: The tag around the volatile tail of a request.
STATE_TAG = "runtime-state"

# An opening bracket, plain or as an entity, then the tag's name: blanks, slashes, any case. Blanks are never
# given back, so that thousands of them take no longer than as many letters.
_FORGED = re.compile(r"(<|&lt;?|&#0*60;?|&#x0*3c;?)(\s*+(?:/\s*+)?runtime[-_\s]*+state)", re.IGNORECASE)


def escape_markers(text: str) -> str:
    """Return ``text`` with every runtime-state tag made harmless; the same object if it has none."""
    if "<" not in text and "&" not in text:
        return text
    return _FORGED.sub(lambda found: "&amp;lt;" + found[2], text)


def escape_item(item: Item) -> Item:
    """Return ``item`` with forged tags escaped; the same object if it has none.

    In arguments the bracket becomes its JSON escape, so that they stay the JSON they were.
    Opaque items are a provider's own signed blocks and are never touched.
    """
    if isinstance(item, Opaque):
        return item
    if isinstance(item, Call):
        if ("<" not in item.args and "&" not in item.args) or not _FORGED.search(item.args):
            return item
        escaped = _FORGED.sub(
            lambda found: found[0].replace("<", "\\u003c").replace("&", "\\u0026"), item.args
        )
        return evolve(item, args=escaped)
    escaped = escape_markers(item.text)
    return item if escaped is item.text else evolve(item, text=escaped)
