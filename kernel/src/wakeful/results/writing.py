"""Writing one output to the file store: records line by line, texts, files and whole values."""

from __future__ import annotations

import csv
import json
import mimetypes
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from attrs import define, field

from wakeful.types import ContentWriter, Files, Json, Spooled, canonical, clean, clean_text
from wakeful.types.artifacts import ITEM_CAP

#: Outputs longer than this many bytes are kept in the file store and journalled by reference.
SPOOL_BYTES = 50_000
#: Bytes after which an output is cut, and its message says so: a million records of fifty fields are half.
SPOOL_LIMIT = 2_000_000_000
#: Largest ``.json`` file that is read, in bytes; it has to be taken apart in memory.
JSON_LIMIT = 64_000_000
#: Endings of files that are text though their media type does not say so.
_TEXTS = {".log", ".md", ".xml", ".yaml", ".yml", ".toml"}
_MOST = f"{SPOOL_LIMIT:,} bytes"
_CHUNK = 1 << 20
#: What a column's values were, by the Python type that JSON gives.
_TYPES: dict[type, str] = {
    str: "text",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@define(eq=False)
class Job:
    """One output on its way to disk. Its methods block, and are called by one thread after the other.

    Args:
        files: where it goes.
        redact: takes secrets out of a text before it is written.

    Attributes:
        stopped: set to end at the next record.
        cut: where the output was cut, if it was longer than it may be.
    """

    files: Files
    redact: Callable[[str], str]
    stopped: threading.Event = field(factory=threading.Event)
    cut: str = ""
    items: list[Json] = field(factory=list)
    rows: int = 0
    columns: dict[str, set[type]] = field(factory=dict)
    tabular: bool = True
    size: int = 0
    writer: ContentWriter | None = None
    lines: list[str] = field(factory=list)
    waiting: int = 0
    masked: bool = False

    def whole(self, value: Json) -> Json:
        """Spool a value that is there, a path or a plain iterator."""
        try:
            if isinstance(value, Path):
                return self._path(value)
            if isinstance(value, Iterator):
                return self.finish(value)
            if _records(value):
                return self.finish(value, value)
            return self._text(value) if isinstance(value, str) else self._json(value)
        finally:
            self.abandon()

    def records(self, source: Iterable[Json]) -> None:
        """Add records: in memory as long as they are few, else line by line to the file."""
        for item in source:
            if self.stopped.is_set() or self.cut:
                return
            if self.rows == ITEM_CAP:
                self.cut = f"{ITEM_CAP:,} items"
                return
            self._note(item)
            line = self._redacted(_line(item))
            self.size += len(line) + 1
            self.rows += 1
            if self.writer is None:
                self.items.append(item)
            self.lines.append(line)
            self.waiting += len(line)
            if self.writer is None and self.size > SPOOL_BYTES:
                self.writer, self.items = self.files.writer(), []
            if self.waiting > _CHUNK:
                self._flush()

    def finish(self, source: Iterable[Json], value: Json = None) -> Json:
        """Add the last records and return the value, or what stands for it."""
        self.records(source)
        if self.writer is None:
            return self.items if value is None else value
        self._flush()
        form = "records" if self.tabular else "json"
        writer, size = self.writer, self.writer.size
        # What was in memory before a secret was taken out of it is not used again.
        value = None if self.masked else value
        if form == "json":
            return self._relisted(writer.finish(), value)
        names = tuple((name, _kind(types)) for name, types in self.columns.items())
        return Spooled(writer.finish(), size, form, self.rows, names, value=value)

    def abandon(self) -> None:
        """Leave no unfinished file."""
        if self.writer is not None:
            self.writer.abandon()

    def _redacted(self, text: str) -> str:
        clear = self.redact(text)
        self.masked = self.masked or clear != text
        return clear

    def _flush(self) -> None:
        if self.writer is None:
            return
        self.writer.write(("\n".join(self.lines) + "\n" if self.lines else "").encode())
        self.lines, self.waiting = [], 0
        if self.writer.size > SPOOL_LIMIT:
            self.cut = _MOST

    def _note(self, item: Json) -> None:
        if type(item) is not dict:
            self.tabular = False
            return
        for name, value in item.items():
            types = self.columns.get(name)
            if types is None:
                types = self.columns[name] = set()
            types.add(type(value))

    def _relisted(self, ref: str, value: Json) -> Spooled:
        """Return items that are no records, which stand on lines, as one JSON array."""
        writer = self.writer = self.files.writer()
        with self.files.path(ref).open("rb") as lines:
            for place, line in enumerate(lines):
                writer.write((b"," if place else b"[") + line.rstrip(b"\n"))
        writer.write(b"]")
        size = writer.size
        return Spooled(writer.finish(), size, "json", value=value)

    def _text(self, value: str) -> Json:
        text = self._redacted(clean_text(value))
        content = text.encode()
        return text if len(content) <= SPOOL_BYTES else self._stored(content, "text", text)

    def _json(self, value: Json) -> Json:
        text = self._redacted(canonical(clean(value)))
        content = text.encode()
        if len(content) <= SPOOL_BYTES:
            return value
        return self._stored(content, "json", None if self.masked else value)

    def _stored(self, content: bytes, form: str, value: Json) -> Spooled:
        writer = self.writer = self.files.writer()
        writer.write(content)
        return Spooled(writer.finish(), len(content), form, value=value)

    def _path(self, path: Path) -> Json:
        suffix, size = path.suffix.lower(), path.stat().st_size
        if suffix in {".jsonl", ".ndjson"}:
            with path.open(encoding="utf-8") as lines:
                return self.finish(json.loads(line) for line in lines if line.strip())
        if suffix == ".csv":
            with path.open(encoding="utf-8-sig", newline="") as lines:
                return self.finish(dict(row) for row in csv.DictReader(lines))
        if suffix == ".json":
            if size > JSON_LIMIT:
                what = f"{path.name} has over {JSON_LIMIT:,} bytes"
                raise ValueError(f"{what}; write records, one a line, as .jsonl")
            return self.whole(json.loads(path.read_text(encoding="utf-8")))
        media = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        if media.startswith("text/") or suffix in _TEXTS:
            return self._long_text(path, size)
        writer = self.writer = self.files.writer()
        with path.open("rb") as content:
            while chunk := content.read(_CHUNK):
                writer.write(chunk)
        return Spooled(writer.finish(), size, "bytes", media=media)

    def _long_text(self, path: Path, size: int) -> Json:
        """Spool a file line by line, so that its size does not matter."""
        if size <= SPOOL_BYTES:
            return self._text(path.read_text(encoding="utf-8", errors="replace"))
        writer = self.writer = self.files.writer()
        with path.open(encoding="utf-8", errors="replace", newline="") as lines:
            for line in lines:
                writer.write(self._redacted(clean_text(line)).encode())
                if self.stopped.is_set() or writer.size > SPOOL_LIMIT:
                    self.cut = _MOST
                    break
        made = writer.size
        return Spooled(writer.finish(), made, "text")


def _line(item: Json) -> str:
    """Return a record as one line of JSON that neither UTF-8 nor PostgreSQL refuses."""
    line = _encode(item)
    if "\\u0000" not in line and (line.isascii() or _encodable(line)):
        return line
    return _encode(clean(item))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(types: set[type]) -> str:
    names = {_TYPES.get(each, "mixed") for each in types} - {"null"}
    if names == {"integer", "number"}:
        return "number"
    return "null" if not names else names.pop() if len(names) == 1 else "mixed"


def columns(records: Iterable[Mapping[str, Json]]) -> tuple[tuple[str, str], ...]:
    """Return the columns of records and the types of their values, see :class:`Spooled`."""
    found: dict[str, set[type]] = {}
    for item in records:
        for name, value in item.items():
            found.setdefault(name, set()).add(type(value))
    return tuple((name, _kind(types)) for name, types in found.items())


def _records(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is dict for item in value)
