"""A cassette in use: finding what answers a request, and appending what was recorded."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from attrs import evolve

from wakeful.types import ConfigError, Json, Problem, StoreError
from wakeful_replay.lines import Header, Line, dump_line
from wakeful_replay.reduced import Reduced
from wakeful_replay.tape import Tape

#: Conversations whose last line, and repeated requests whose turn, are remembered; the oldest are
#: forgotten: the next line is then written in full, the repeated request starts at its first reply.
REMEMBERED = 1024

_V = TypeVar("_V")


class Recent(Generic[_V]):
    """A dictionary of bounded size that forgets what was set longest ago."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._values: OrderedDict[str, _V] = OrderedDict()

    def get(self, key: str, default: _V) -> _V:
        """Return what was set, else ``default``."""
        return self._values.get(key, default)

    def set(self, key: str, value: _V) -> None:
        """Remember ``value``."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._limit:
            self._values.popitem(last=False)


class Cassette:
    """One file of recorded replies. Safe to use from several threads of one process.

    Args:
        path: the file; it is made when the first reply is recorded.
        name: what messages call it.
        tape: what it held when it was read.
    """

    def __init__(self, path: Path, name: str, tape: Tape) -> None:
        self.name = name
        self.header = tape.header
        self._path = path
        self._cut, self._open_ended = tape.cut, tape.open_ended
        self._lines = list(tape.lines)
        self._last = max((line.number for line in tape.lines), default=1)
        self._by_fingerprint: dict[str, list[Line]] = {}
        for line in self._lines:
            self._by_fingerprint.setdefault(line.fingerprint, []).append(line)
        self._turn: Recent[int] = Recent()
        self._latest: Recent[Line | None] = Recent()
        self._lock = Lock()

    def find(self, fingerprint: str, conversation: str) -> Line | None:
        """Return the reply to a request.

        What was recorded several times is played in order, counted for each conversation; the last
        one answers from then on.
        """
        with self._lock:
            lines = self._by_fingerprint.get(fingerprint, [])
            if len(lines) < 2:  # noqa: PLR2004  (nothing to take turns)
                return lines[0] if lines else None
            key = f"{conversation}/{fingerprint}"
            turn = self._turn.get(key, 0)
            self._turn.set(key, turn + 1)
            return lines[min(turn, len(lines) - 1)]

    def closest(self, request: Reduced) -> Line:
        """Return the recorded request most like ``request``: same beginning, then same length."""
        return max(
            self._lines,
            key=lambda line: (
                line.request.shared(request),
                -abs(len(line.request.messages) - len(request.messages)),
                line.request.tools == request.tools,
                line.request.system == request.system,
                -line.number,
            ),
        )

    def append(self, line: Line, conversation: str, header: Header) -> None:
        """Write a line to the end of the file and to the disk.

        The line is written by one call, so that a reader or a crash sees all of it or a cut last line.

        Args:
            line: what was recorded; its number is set here.
            conversation: the id under which the next line can continue this one; it is not written.
            header: the first line, if the file has none yet.

        Raises:
            StoreError: the file cannot be written.
        """
        with self._lock:
            line = evolve(line, number=self._last + 1)
            values = [dump_line(line, self._latest.get(conversation, None))]
            if self.header is None:
                values.insert(0, header.dump())
            elif self.header.model != header.model:
                raise StoreError(f"{self.name}: {_mixed(self.header, header.model)}")
            try:
                self._write(values)
            except OSError as error:
                raise StoreError(f"{self.name} cannot be recorded into: {error.strerror}") from error
            except (TypeError, ValueError) as error:
                raise StoreError(f"{self.name} cannot hold the reply: {error}") from error
            self.header = self.header or header
            self._last = line.number
            self._lines.append(line)
            self._by_fingerprint.setdefault(line.fingerprint, []).append(line)
            self._latest.set(conversation, line)

    def _write(self, values: Sequence[Json]) -> None:
        text = "".join(f"{json.dumps(value, ensure_ascii=False, allow_nan=False)}\n" for value in values)
        # A lone surrogate has no UTF-8, but its backslash escape is the JSON escape too.
        data = text.encode("utf-8", "backslashreplace")
        if self._cut is not None:
            os.truncate(self._path, self._cut)
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            # If the disk fills up on the way, what was written of the line is cut away by the next one.
            self._cut = os.fstat(file).st_size
            data = b"\n" * self._open_ended + data
            while data:
                data = data[os.write(file, data) :]
            os.fsync(file)
        finally:
            os.close(file)
        self._cut, self._open_ended = None, False


def check_upstream(cassette: Cassette, upstream: str) -> None:
    """Refuse to mix two models in one cassette.

    Raises:
        ConfigError: the cassette was recorded from another model.
    """
    header = cassette.header
    if header is not None and header.model != upstream:
        raise ConfigError([Problem(cassette.name, _mixed(header, upstream))])


def _mixed(header: Header, upstream: str) -> str:
    return f"was recorded from {header.model!r}, but upstream is {upstream!r}; record into another file"
