"""What rows and answers remember of artifacts, and showing outputs that are in the file store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from attrs import asdict, evolve
from sqlalchemy import Connection, select

from wakeful.store.tables import message
from wakeful.types import ActionResult, Artifact, Files, Json, Row, Spooled, Trust

#: Bytes of an output in the file store that are shown inline when nothing bounded it.
INLINE_BYTES = 1_000_000
#: Form of an output that is kept as one JSON value a line.
LINES = "records"
#: Key of a result row's metadata.
META = "artifacts"
_HANDLE = re.compile(r"\[([A-Z]{1,8})\]")


def meta(results: Iterable[ActionResult]) -> dict[str, Json]:
    """Return what a row's metadata says of the artifacts that its results made; empty if none."""
    made = [asdict(artifact) for result in results for artifact in result.artifacts]
    return {META: made} if made else {}


def known(rows: Iterable[Row]) -> dict[str, Artifact]:
    """Return the artifacts that the rows of a conversation made, by handle, in the order they were made."""
    found: dict[str, Artifact] = {}
    for row in rows:
        for item in row.meta.get(META, ()):
            found[item["handle"]] = Artifact(**{**item, "trust": Trust(item["trust"])})
    return found


def named(rows: Iterable[Row], text: str) -> tuple[str, ...]:
    """Return the handles that a text names and the conversation has, each once, in the text's order."""
    return _named((row.meta for row in rows), text)


def named_stored(conn: Connection, conversation_id: str, text: str) -> tuple[str, ...]:
    """Return the same of a conversation as it is stored."""
    if not _HANDLE.search(text):
        return ()
    return _named(stored_meta(conn, conversation_id, META), text)


def stored_meta(conn: Connection, conversation_id: str, key: str) -> Iterable[Mapping[str, Json]]:
    """Yield the metadata of a conversation's rows that has a key, in their order."""
    mine = message.c.conversation_id == conversation_id
    stored = select(message.c.meta).where(mine, message.c.meta.contains(f'"{key}"')).order_by(message.c.seq)
    return (json.loads(meta) for meta in conn.execute(stored).scalars())


def _named(metas: Iterable[Mapping[str, Json]], text: str) -> tuple[str, ...]:
    written = dict.fromkeys(_HANDLE.findall(text))
    if not written:
        return ()
    there = {item["handle"] for meta in metas for item in meta.get(META, ())}
    return tuple(handle for handle in written if handle in there)


async def inlined(result: ActionResult, files: Files) -> ActionResult:
    """Return the result with the values of outputs that are in the file store and were not bounded.

    What is not in memory any more is read back, up to 1,000,000 bytes; the message says what is left out.

    Raises:
        StoreError: a content cannot be read.
    """
    if not any(isinstance(value, Spooled) for value in result.outputs.values()):
        return result
    import asyncio

    outputs: dict[str, Json] = {}
    said: list[str] = []
    for name, value in result.outputs.items():
        if not isinstance(value, Spooled) or value.form == "bytes":
            outputs[name] = value
        elif value.value is not None:
            outputs[name] = value.value
        elif value.size <= INLINE_BYTES:
            outputs[name] = _parsed((await files.get(value.ref)).decode(), value.form)
        else:
            outputs[name], shown = await asyncio.to_thread(_begun, files.path(value.ref), value)
            said.append(f"`{name}` is cut: {shown}")
    return evolve(result, outputs=outputs, message="; ".join(filter(None, (result.message, *said))))


def _parsed(text: str, form: str) -> Json:
    if form == LINES:
        return [json.loads(line) for line in text.split("\n") if line]
    return json.loads(text) if form == "json" else text


def _begun(path: Path, value: Spooled) -> tuple[Json, str]:
    """Return the beginning of a content and how much of it that is."""
    with path.open("rb") as content:
        if value.form != LINES:
            text = content.read(INLINE_BYTES).decode(errors="ignore")
            return text, f"{len(text):,} characters of {value.size:,} bytes"
        rows: list[Json] = []
        room = INLINE_BYTES
        for line in islice(content, value.rows):
            room -= len(line)
            if room < 0:
                break
            rows.append(json.loads(line))
    return rows, f"{len(rows):,} of {value.rows:,} rows"
