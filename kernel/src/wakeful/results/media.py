"""Telling media from text: images, sound, documents that an action gave as base64."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from attrs import field, frozen

from wakeful.types import Json, Spooled

#: Characters of base64 from which a text is taken for media; shorter ones are ids, hashes and keys.
MEDIA_CHARS = 10_000
#: Keys under which a declared medium names its type, in the spellings of several protocols.
_TYPE_KEYS = ("media_type", "mimeType", "mime_type")
_TYPE = re.compile(r"[a-z]{1,20}/[A-Za-z0-9.+-]{1,80}")
_URI = re.compile(r"data:([a-z]{1,20}/[A-Za-z0-9.+-]{1,80});base64,")
#: In one piece, or in lines of one length, as mail programs write it.
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}\s*|(?:[A-Za-z0-9+/]{60,76}\r?\n)+[A-Za-z0-9+/]*={0,2}\s*")
#: Different characters that base64 has at least; a text of one letter repeated is a text.
_VARIETY = 16
#: First bytes of well-known formats.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
)


@frozen
class Media:
    """What is not text: its type and size in bytes, and its content unless it is in the file store."""

    type: str
    size: int
    content: bytes = field(default=b"", repr=False)
    ref: str = ""


def media_of(value: Json) -> Media | None:
    """Return the medium that an output is; None if it is an ordinary value.

    A medium is declared, as ``{"media_type": "image/png", "data": "<base64>"}`` (``mimeType`` and
    ``mime_type`` will do), or a ``data:`` address, or a file that is not text; or else a text of at least
    10,000 characters that is base64 as a whole.
    """
    if isinstance(value, Spooled):
        return _spooled(value)
    if isinstance(value, Mapping):
        data = value.get("data")
        named = next((value[key] for key in _TYPE_KEYS if isinstance(value.get(key), str)), "")
        if not isinstance(data, str) or not _TYPE.fullmatch(named) or named.startswith("text/"):
            return None
        return _decoded(data, named)
    if not isinstance(value, str):
        return None
    address = _URI.match(value)
    if address is not None:
        return _decoded(value[address.end() :], address[1])
    if len(value) < MEDIA_CHARS or len(set(value[:MEDIA_CHARS])) < _VARIETY:
        return None
    return _decoded(value) if _BASE64.fullmatch(value) else None


def _spooled(value: Spooled) -> Media | None:
    if value.form == "bytes":
        return Media(value.media or "application/octet-stream", value.size, ref=value.ref)
    return media_of(value.value) if value.form in {"text", "json"} else None


def _decoded(text: str, declared: str = "") -> Media | None:
    plain = re.sub(r"\s+", "", text).replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return Media(declared or _sniffed(content), len(content), content)


def _sniffed(content: bytes) -> str:
    """Return the type that the first bytes mean."""
    if content[:4] == b"RIFF":
        return "image/webp" if content[8:12] == b"WEBP" else "audio/wav"
    known = (kind for magic, kind in _MAGIC if content.startswith(magic))
    return next(known, "application/octet-stream")
