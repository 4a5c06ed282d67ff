"""A file of replies, read whole: a script or a cassette."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

from attrs import frozen

from wakeful.types import ConfigError, Json, Problem, nearest
from wakeful_replay.checks import strict_json
from wakeful_replay.lines import Header, Line, check_header, check_line, load_header, load_line

#: Largest file that is read, in bytes; longer sessions belong in several files.
MAX_BYTES = 256 * 1024 * 1024
#: Most problems of one file that are listed.
MAX_PROBLEMS = 50


@frozen
class Tape:
    """What a file holds.

    Args:
        header: the first line of a cassette; None for a script and for a file that is still empty.
        lines: the replies in order.
        cut: offset in bytes of a last line that an interrupted recording left unfinished, or None.
        open_ended: whether the last whole line lacks its newline.
    """

    header: Header | None = None
    lines: tuple[Line, ...] = ()
    cut: int | None = None
    open_ended: bool = False


def read_tape(path: Path, name: str, *, recording: bool) -> Tape:
    """Read and check a file.

    Args:
        path: the file.
        name: what messages call it.
        recording: whether it is to be appended to: it may be missing or empty, must not be a script,
            and a last line that was cut off is left out instead of being an error.

    Raises:
        ConfigError: every problem of the file at once, each with its line.
    """
    data = _read_bytes(path, name, recording=recording)
    reading = _Reading(name)
    rows = _rows(data)
    reading.recorded = _is_cassette(rows)
    unfinished = bool(data) and not data.endswith(b"\n")
    cut = None
    if unfinished and (reading.recorded or recording) and not _whole(rows[-1][1]):
        number, raw = rows.pop()
        cut = len(data) - len(raw)
        if not recording:
            reading.add(
                number,
                "the line is cut off, probably by an interrupted recording; delete it, or let"
                " mode = 'auto' cut it away and record the reply anew",
            )
    for number, raw in rows:
        reading.take(number, raw)
    if recording and reading.lines and not reading.recorded:
        reading.add(0, "is a script, which nothing is recorded into; name another file")
    if not recording and not reading.lines and not reading.problems:
        reading.add(0, "holds no reply; a script has one JSON object per line")
    if reading.problems:
        raise ConfigError(reading.problems[:MAX_PROBLEMS])
    return Tape(reading.header, tuple(reading.lines), cut, unfinished and cut is None)


class _Reading:
    """Collects the lines and the problems of one file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.recorded = False
        self.header: Header | None = None
        self.lines: list[Line] = []
        self.problems: list[Problem] = []
        self._earlier: dict[str, Line] = {}
        self._first = True

    def add(self, number: int, what: str) -> None:
        """Note a problem of a line, or of the file for number 0."""
        self.problems.append(Problem(f"{self.name}:{number}" if number else self.name, what))

    def take(self, number: int, raw: bytes) -> None:
        """Read one line; blank lines and comments hold nothing."""
        try:
            text = raw.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            self.add(number, f"is not UTF-8: byte 0x{raw[error.start]:02x} at column {error.start + 1}")
            self._first = False
            return
        if not text or text.startswith("#"):
            return
        try:
            value = strict_json(text)
        except json.JSONDecodeError as error:
            self.add(number, f"is not JSON: {error.msg} at column {error.colno}")
        except ValueError as error:
            self.add(number, f"is not JSON: {error}")
        else:
            self._take_value(number, value)
        self._first = False

    def _take_value(self, number: int, value: Json) -> None:
        if self.recorded and self._first:
            self._take_header(number, value)
            return
        found = check_line(value, recorded=self.recorded)
        for what in found:
            self.add(number, what)
        if found:
            return
        try:
            line = load_line(value, number, self._earlier)
        except KeyError:
            self.add(
                number,
                f"continues the request {value['request']['continues'][:12]!r}, which no line above"
                " recorded; was a line taken out? Delete this one too and record it anew",
            )
            return
        self.lines.append(line)
        if line.fingerprint:
            self._earlier.setdefault(line.fingerprint, line)

    def _take_header(self, number: int, value: Json) -> None:
        if not isinstance(value, dict) or "cassette" not in value:
            self.add(number, 'a cassette begins with the line {"cassette": 1, "model": …, "profile": …}')
            return
        found = check_header(value)
        for what in found:
            self.add(number, what)
        if not found:
            self.header = load_header(value)


def _read_bytes(path: Path, name: str, *, recording: bool) -> bytes:
    try:
        if path.is_dir():
            raise ConfigError([Problem(name, "is a folder; a script or cassette is a .jsonl file")])
        if path.exists() and not path.is_file():
            raise ConfigError([Problem(name, "is not a regular file")])
        if not path.exists():
            return _missing(path, name, recording=recording)
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError([Problem(name, f"is larger than {MAX_BYTES // 1024 // 1024} MB")])
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError([Problem(name, f"cannot be read: {reason}")]) from error


def _missing(path: Path, name: str, *, recording: bool) -> bytes:
    if not path.parent.is_dir():
        raise ConfigError([Problem(name, f"there is no folder {path.parent.name!r} to find it in")])
    if recording:
        return b""
    others = [other.name for other in path.parent.glob("*.jsonl")]
    raise ConfigError([Problem(name, f"there is no such file{nearest(path.name, others)}")])


def _rows(data: bytes) -> list[tuple[int, bytes]]:
    """Return line numbers and bytes; only a newline ends a line, as texts may hold other separators."""
    rows = data.split(b"\n")
    rows[0] = rows[0].removeprefix(codecs.BOM_UTF8)
    return list(enumerate(rows, 1))


def _is_cassette(rows: list[tuple[int, bytes]]) -> bool:
    """Return whether any line is one of a cassette; texts may hold the words too, so it is parsed."""
    for _, raw in rows:
        if b'"fingerprint"' in raw or b'"cassette"' in raw:
            try:
                value = strict_json(raw.decode("utf-8"))
            except ValueError:
                continue
            if isinstance(value, dict) and ("fingerprint" in value or "cassette" in value):
                return True
    return False


def _whole(raw: bytes) -> bool:
    text = raw.decode("utf-8", "replace").strip()
    if not text or text.startswith("#"):
        return True
    try:
        strict_json(text)
    except ValueError:
        return False
    return True
