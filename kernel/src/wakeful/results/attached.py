"""Media that no plugin keeps as artifacts: bytes in the file store, a handle in the text and the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from attrs import asdict, evolve

from wakeful.results.artifacts import stored_meta
from wakeful.results.media import media_of
from wakeful.store.contents import keep
from wakeful.types import ActionResult, Files, Json, Medium, Row, Spooled

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Key of a result row's metadata.
META = "media"
#: Digits of a handle: 48 bits of the content's hash, so that the same bytes have the same one.
DIGITS = 12
_HANDLE = re.compile(r"media:[0-9a-f]{12}(?![0-9a-f])")


def handle(ref: str) -> str:
    """Return what texts name a medium by, e.g. ``media:3f2a91c07be4``."""
    return f"media:{ref[:DIGITS]}"


async def attached(result: ActionResult, files: Files) -> ActionResult:
    """Return the result with the bytes of its media in the file store.

    Raises:
        StoreError: the file store cannot be written.
    """
    outputs: dict[str, Json] = {}
    for name, value in result.outputs.items():
        medium = media_of(value)
        if medium is not None:
            ref = medium.ref or await files.put(medium.content)
            outputs[name] = Spooled(ref, medium.size, "bytes", media=medium.type)
    return evolve(result, outputs={**result.outputs, **outputs}) if outputs else result


def _media(results: Iterable[ActionResult]) -> list[Medium]:
    return [
        Medium(handle(value.ref), value.media or "application/octet-stream", value.size, value.ref)
        for result in results
        for value in result.outputs.values()
        if isinstance(value, Spooled) and value.form == "bytes"
    ]


def meta(results: Iterable[ActionResult]) -> dict[str, Json]:
    """Return what a row's metadata says of the media of its results; empty if there are none."""
    found = [asdict(medium) for medium in _media(results)]
    return {META: found} if found else {}


def keep_all(conn: Connection, conversation: str, results: Iterable[ActionResult]) -> None:
    """Let a conversation keep the media of results, in the transaction that writes their rows."""
    for medium in _media(results):
        conn.execute(keep(conversation, medium.ref))


def named(rows: Iterable[Row], text: str) -> tuple[Medium, ...]:
    """Return the media that a text names and the conversation has, each once, in the text's order."""
    return _named((row.meta for row in rows), text)


def named_stored(conn: Connection, conversation_id: str, text: str) -> tuple[Medium, ...]:
    """Return the same of a conversation as it is stored."""
    return _named(stored_meta(conn, conversation_id, META), text) if _HANDLE.search(text) else ()


def _named(metas: Iterable[Mapping[str, Json]], text: str) -> tuple[Medium, ...]:
    written = dict.fromkeys(_HANDLE.findall(text))
    if not written:
        return ()
    known = {item["handle"]: Medium(**item) for meta in metas for item in meta.get(META, ())}
    return tuple(known[each] for each in written if each in known)
