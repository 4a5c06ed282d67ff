"""Server-sent events, from bytes to parsed JSON, without a typed object for each."""

from __future__ import annotations

import json
from collections.abc import Iterator

from attrs import define, field

from wakeful.types import Json

#: Largest event in bytes. The largest that a provider sends is one block of a server tool, a few MB at most.
LARGEST_EVENT = 32 * 2**20


class UnreadableError(Exception):
    """A reply that is not what the API promises; the text says what was seen."""


@define(eq=False)
class Events:
    """Cuts a byte stream into events (WHATWG HTML, "Server-sent events").

    Only ``data`` is read: the Messages API repeats the event's name in it. Lines may end in LF or CRLF, and
    be cut anywhere, inside a character too; comments and unknown fields are left out.
    """

    _rest: bytes = b""
    _data: list[bytes] = field(factory=list)

    def feed(self, chunk: bytes) -> Iterator[Json]:
        """Yield the JSON of every event that is whole now.

        Raises:
            UnreadableError: an event is no JSON, or does not end.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) + sum(map(len, self._data)) > LARGEST_EVENT:
            raise UnreadableError("an event of the stream does not end")
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:])
            elif not line and self._data:
                yield self._event()

    def _event(self) -> Json:
        data = b"\n".join(self._data)
        self._data.clear()
        try:
            return json.loads(data)
        except ValueError:
            raise UnreadableError("an event of the stream is broken JSON") from None
