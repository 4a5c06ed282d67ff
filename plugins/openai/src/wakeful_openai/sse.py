"""Server-sent events, cut out of whatever pieces the network delivers.

Follows the WHATWG description as far as the APIs use it: comments, CRLF, several data lines in one event, and
a byte order mark. Lines that are no field at all are kept, because an error page is made of such lines.
"""

from __future__ import annotations

from collections.abc import Iterator

#: Longest line in bytes; no delta is near it.
LONGEST_LINE = 64 * 2**20
#: How much of a body that is no stream is kept.
KEPT_STRAY = 16 * 2**20

_BOM = b"\xef\xbb\xbf"


class LineTooLongError(Exception):
    """A line has no end."""


class Decoder:
    """Turns pieces of bytes into (event name, data)."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._size = 0
        self._begun = False
        self._event, self._data = b"", list[bytes]()
        self._stray: list[bytes] = []
        self._stray_size = 0
        self.events = 0

    @property
    def stray(self) -> bytes:
        """The lines that were no part of any event."""
        return b"\n".join(self._stray)

    def feed(self, piece: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Take a piece and yield the events that it completes.

        Raises:
            LineTooLongError: the bytes are no stream of lines.
        """
        if b"\n" not in piece and b"\r" not in piece:
            self._hold(piece)
            return
        text = b"".join([*self._pending, piece])
        # A line feed may follow in the next piece.
        held = b"\r" if text.endswith(b"\r") else b""
        body = text[: len(text) - len(held)]
        lines = body.splitlines()
        tail = held if body.endswith((b"\n", b"\r")) or not lines else lines.pop() + held
        self._pending, self._size = [], 0
        self._hold(tail)
        for line in lines:
            yield from self._line(line)

    def end(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield what the last bytes hold, also without the empty line that should follow."""
        text = b"".join(self._pending)
        self._pending, self._size = [], 0
        for line in text.splitlines():
            yield from self._line(line)
        yield from self._line(b"")

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._pending.append(piece)
            self._size += len(piece)
        if self._size > LONGEST_LINE:
            raise LineTooLongError

    def _line(self, line: bytes) -> Iterator[tuple[bytes, bytes]]:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                self.events += 1
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                yield self._event, data
            self._event, self._data = b"", []
        elif line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line.startswith(b"event:"):
            self._event = line[6:].strip()
        elif not line.startswith((b":", b"id:", b"retry:")) and self._stray_size < KEPT_STRAY:
            self._stray.append(line)
            self._stray_size += len(line)
