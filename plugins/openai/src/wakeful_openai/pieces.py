"""Text as servers send it: strings, lists of parts, halves of a character."""

from __future__ import annotations

import json

from attrs import define, field

from wakeful.types import Json, clean_text

_HIGH = ("\ud800", "\udbff")


@define
class Flow:
    """Collects the pieces of a text and says what of it can be shown.

    JSON may spell a character outside the basic plane as two escapes in two deltas; half of one is held
    back until the other half is there.
    """

    _pieces: list[str] = field(factory=list)
    _half: str = ""

    def add(self, piece: str) -> str:
        """Take a piece and return what can be shown now."""
        if not piece:
            return ""
        self._pieces.append(piece)
        piece, self._half = self._half + piece, ""
        if _HIGH[0] <= piece[-1] <= _HIGH[1]:
            piece, self._half = piece[:-1], piece[-1]
        return clean_text(piece)

    @property
    def text(self) -> str:
        """All of it, without what UTF-8 cannot hold."""
        return clean_text("".join(self._pieces))


@define
class Parts:
    """What a ``content`` holds, whichever way it is written."""

    text: str = ""
    thinking: str = ""
    refusal: str = ""


def read_content(content: Json) -> Parts | None:
    """Return the texts of a ``content``: text, null, a part or a list of them; else None."""
    parts = Parts()
    if content is None:
        return parts
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            parts.text += part
        elif isinstance(part, dict):
            _read_part(part, parts)
        elif part is not None:
            return None
    return parts


def _read_part(part: dict[str, Json], parts: Parts) -> None:
    kind = part.get("type") or "text"
    if kind == "refusal":
        parts.refusal += _string(part.get("refusal") or part.get("text"))
    elif kind in {"thinking", "reasoning", "reasoning_text", "summary_text"}:
        inner = read_content(part.get("thinking") or part.get("text") or part.get("reasoning"))
        parts.thinking += inner.text if inner else ""
    else:  # text, output_text, input_text, and whatever else has a text
        parts.text += _string(part.get("text"))


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""


def spelled_args(args: Json, *, cut: bool) -> str | None:
    """Return the arguments of a call as text: as they came, spelled if they came as an object.

    A call without arguments is a call with none; cut ones stay as they are. None for anything else.
    """
    if isinstance(args, dict | list):
        return clean_text(json.dumps(args, ensure_ascii=False))
    if args is None or isinstance(args, str):
        text = clean_text(args or "")
        return text if text.strip() or cut else "{}"
    return None
