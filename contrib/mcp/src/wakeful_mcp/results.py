"""What a tool returned as the result of an action: the data once, media as notes, errors with their words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from wakeful.types import ActionResult, ErrorRecovery, Json

#: Longest part of a server's words in the one line of a message, in characters.
LINE = 300
#: Keys of an object that become outputs of their own; more, or stranger ones, stay together.
KEYS = 20
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
#: Characters of base64 that stand for three bytes.
_QUAD = 4


def action_result(blocks: Sequence[Any], structured: Any, *, failed: bool, source: str) -> ActionResult:
    """Return the result of a call.

    Args:
        blocks: content blocks as the library parsed them.
        structured: structured content, or None.
        failed: the server says that the tool failed.
        source: where it came from.
    """
    texts = [block.text for block in blocks if block.type == "text"]
    if failed:
        return _failed(texts, structured, source)
    outputs: dict[str, Json] = {}
    if structured is not None:
        outputs.update(_structured(structured))
    if texts and not (structured is not None and _repeats(texts, structured)):
        outputs[_free("text", outputs)] = "\n\n".join(texts)
    for kind, found in _others(blocks).items():
        outputs[_free(kind, outputs)] = found
    return ActionResult(message="" if outputs else "nothing was returned", outputs=outputs, source=source)


def _failed(texts: Sequence[str], structured: Any, source: str) -> ActionResult:
    said = "\n\n".join(texts) or ("" if structured is None else json.dumps(structured, ensure_ascii=False))
    line = " ".join(said.split()) or "the tool failed and did not say why"
    outputs = {"text": said} if len(line) > LINE else {}
    return ActionResult(
        success=False,
        code="TOOL_FAILED",
        message=line if len(line) <= LINE else f"{line[:LINE]}…",
        outputs=outputs,
        source=source,
        recovery=ErrorRecovery(
            suggestion="Read what the tool says, change the arguments, or go on without it."
        ),
    )


def _structured(value: Any) -> dict[str, Json]:
    """Return structured content as outputs; a lone ``result`` is only a wrapper."""
    if isinstance(value, Mapping) and set(value) == {"result"} and isinstance(value["result"], Mapping):
        value = value["result"]
    plain = isinstance(value, Mapping) and 0 < len(value) <= KEYS
    if plain and all(isinstance(key, str) and _KEY.fullmatch(key) for key in value):
        return dict(value)
    return {"result": value}


def _repeats(texts: Sequence[str], structured: Any) -> bool:
    """Whether the texts say what the structured content says, as servers do for older clients."""
    inner = (
        structured["result"]
        if isinstance(structured, Mapping) and set(structured) == {"result"}
        else structured
    )
    whole = "\n".join(texts)
    if _means(whole, structured) or _means(whole, inner):
        return True
    return (
        isinstance(inner, list)
        and len(inner) == len(texts)
        and all(_means(text, part) for text, part in zip(texts, inner, strict=True))
    )


def _means(text: str, value: Any) -> bool:
    if isinstance(value, str):
        return text == value
    try:
        return bool(json.loads(text) == value)
    except ValueError:
        return text == str(value)


def _others(blocks: Sequence[Any]) -> dict[str, Json]:
    """Return media as notes, embedded texts, and links, each kind together."""
    found: dict[str, list[Json]] = {}
    for block in blocks:
        if block.type in {"image", "audio"}:
            found.setdefault("media", []).append(_note(block.type, block.mime_type, block.data))
        elif block.type == "resource_link":
            about = {
                "uri": str(block.uri),
                "name": block.name,
                "type": block.mime_type,
                "about": block.description,
            }
            found.setdefault("links", []).append({key: value for key, value in about.items() if value})
        elif block.type == "resource":
            held = block.resource
            text = getattr(held, "text", None)
            if text is not None:
                found.setdefault("resources", []).append({"uri": str(held.uri), "text": text})
            else:
                note = _note("file", held.mime_type, held.blob)
                found.setdefault("media", []).append({"uri": str(held.uri), **note})
        elif block.type != "text":
            found.setdefault("media", []).append({"kind": str(block.type)[:LINE]})
    return dict(found)


def _note(kind: str, mime: str | None, data: str) -> dict[str, Json]:
    """Return what is known about media; the bytes themselves would be no use to a model as text."""
    size = len(data) * 3 // _QUAD - data[-2:].count("=")
    return {"kind": kind, "type": (mime or "unknown")[:LINE], "bytes": max(size, 0), "shown": False}


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Return ``name``, or with an underscore if a server's own key has it."""
    return name if name not in taken else _free(f"{name}_", taken)
