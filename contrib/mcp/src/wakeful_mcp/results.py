"""What a tool returned as the result of an action: the data once, media as files, errors with their words."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from wakeful.types import ActionResult, ErrorRecovery, Files, Json, Spooled, read_json

#: Longest part of a server's words in the one line of a message, in characters.
LINE = 300
#: Keys of an object that become outputs of their own; more, or stranger ones, stay together.
KEYS = 20
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_MIME = re.compile(r"[a-z]{1,20}/[A-Za-z0-9.+-]{1,80}")


async def action_result(
    blocks: Sequence[Any], structured: Any, files: Files, *, failed: bool, source: str
) -> ActionResult:
    """Return the result of a call.

    Args:
        blocks: content blocks as the library parsed them.
        structured: structured content, or None.
        files: where media go.
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
    others, media = _others(blocks)
    for kind, found in others.items():
        outputs[_free(kind, outputs)] = found
    async for kind, value in _stored(media, files):
        outputs[_free(kind, outputs)] = value
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
        return bool(read_json(text) == value)
    except ValueError:
        return text == str(value)


def _others(blocks: Sequence[Any]) -> tuple[dict[str, list[Json]], list[tuple[str, str, str]]]:
    """Return links and embedded texts, and the media among the blocks as (kind, type, base64)."""
    found: dict[str, list[Json]] = {}
    media: list[tuple[str, str, str]] = []
    for block in blocks:
        if block.type in {"image", "audio"}:
            media.append((block.type, block.mime_type, block.data))
        elif block.type == "resource_link":
            about = {
                "uri": block.uri,
                "name": block.name,
                "type": block.mime_type,
                "about": block.description,
            }
            found.setdefault("links", []).append({key: str(value) for key, value in about.items() if value})
        elif block.type == "resource":
            held = block.resource
            text = getattr(held, "text", None)
            shown = {"uri": str(held.uri)} if text is None else {"uri": str(held.uri), "text": text}
            found.setdefault("resources", []).append(shown)
            if text is None:
                media.append(("file", held.mime_type or "", held.blob))
    return found, media


async def _stored(media: Sequence[tuple[str, str, str]], files: Files) -> AsyncIterator[tuple[str, Json]]:
    """Yield media as outputs in the file store; what is no base64 is only named."""
    for kind, mime, data in media:
        named = mime if _MIME.fullmatch(mime) else "application/octet-stream"
        try:
            content = base64.b64decode(data, validate=True)
        except ValueError:
            yield kind, f"{named}, but what came is no base64"
            continue
        yield kind, Spooled(await files.put(content), len(content), "bytes", media=named)


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Return ``name``, or with a number if there is one of that name."""
    others = (f"{name}_{number}" for number in itertools.count(2))
    return name if name not in taken else next(each for each in others if each not in taken)
