"""The models behind ``replay:file``: one plays a script, one plays and records a cassette."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from math import isfinite

from attrs import evolve

from wakeful.types import (
    Emit,
    Model,
    ModelError,
    Profile,
    Reply,
    Request,
    Services,
    StoreError,
    WakefulError,
    dump_item,
    load_item,
)
from wakeful_replay.cassette import Cassette, Recent
from wakeful_replay.lines import Header, Line, as_written
from wakeful_replay.playing import PROVIDER, is_empty, play, replies
from wakeful_replay.reduced import difference, fingerprint, reduce_request
from wakeful_replay.secrets import Secrets

#: What is true of a script; a window that no test fills by accident.
SCRIPT_PROFILE = Profile(provider=PROVIDER, family="none", window=200_000, native_tools=True)

_NOTHING = ("", 0)


class ScriptModel:
    """Answers the nth request of every conversation with the nth reply of a file.

    Args:
        name: what messages call the file.
        lines: its replies.
    """

    def __init__(self, name: str, lines: Sequence[Line]) -> None:
        self.profile = SCRIPT_PROFILE
        self._name, self._lines = name, tuple(lines)
        self._empty: Recent[tuple[str, int]] = Recent()

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Return the reply that is due; see :func:`wakeful_replay.playing.replies`.

        Raises:
            ModelError: the script has no more replies.
        """
        number = self._due(request, conversation)
        if number > len(self._lines):
            count = len(self._lines)
            raise ModelError(
                "malformed",
                f"script {self._name} has {count} {'reply' if count == 1 else 'replies'} and the"
                f" conversation asked for {_ordinal(number)}",
            )
        line = self._lines[number - 1]
        self._empty.set(conversation, (fingerprint(request), number) if is_empty(line) else _NOTHING)
        return await play(line, request, number, emit, marked=True)

    def _due(self, request: Request, conversation: str) -> int:
        """Return the number of the reply that is due.

        The request says all, so that another process gives the same answer, but for one thing: an empty
        reply leaves no trace in it. Asked the same again right after one, the script goes on.
        """
        asked, number = self._empty.get(conversation, _NOTHING)
        if asked and asked == fingerprint(request):
            return number + 1
        return replies(request.items) + 1


class CassetteModel:
    """Plays what was recorded and records what was not, as ``mode`` has it.

    Args:
        cassette: the file.
        mode: ``replay``, ``record`` or ``auto``.
        strict: whether a request must match exactly.
        header: what a new file begins with.
        upstream: gives the model that is recorded, when it is needed.
        services: clock and reports.
        secrets: what must never be written.
    """

    def __init__(
        self,
        cassette: Cassette,
        mode: str,
        header: Header,
        upstream: Callable[[], Model],
        services: Services,
        secrets: Secrets,
        *,
        strict: bool,
    ) -> None:
        self.profile = header.profile
        self._cassette, self._mode, self._strict = cassette, mode, strict
        self._header, self._upstream = header, upstream
        self._bound: Model | None = None
        self._services, self._secrets = services, secrets

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Return the recorded reply, or ask upstream and record it.

        Raises:
            ModelError: nothing recorded matches (mode ``replay``), the file cannot be written, or
                whatever upstream raises.
        """
        mark = fingerprint(request)
        number = replies(request.items) + 1
        if self._mode != "record":
            line = self._cassette.find(mark, conversation)
            if line is None and self._mode == "replay":
                line = self._mismatch(request, number)
            if line is not None:
                return await play(line, request, number, emit, marked=False)
        return await self._record(mark, request, conversation, emit)

    async def close(self) -> None:
        """Close the recorded model, if it was asked anything."""
        close = getattr(self._bound, "close", None)
        if close is not None:
            await close()

    def _mismatch(self, request: Request, number: int) -> Line:
        """Return the closest line if that will do, else say how it differs."""
        now = reduce_request(request, self._secrets.scrub)
        line = self._cassette.closest(now)
        what = (
            f"request {number} does not match {self._cassette.name}:{line.number}:"
            f" {difference(line.request, now) or 'the fingerprint in the file was changed'}"
        )
        if self._strict:
            raise ModelError("malformed", what)
        self._services.report(f"{what}; answered all the same, as strict is off")
        return line

    async def _record(self, mark: str, request: Request, conversation: str, emit: Emit | None) -> Reply:
        try:
            upstream = self._bound = self._bound or self._upstream()
        except ModelError:
            raise
        except WakefulError as error:  # found only now: everything before was answered from the file
            raise ModelError("unknown", f"nothing recorded matches, and upstream: {error}") from error
        started = self._services.clock.monotonic()
        reply = await upstream.complete(evolve(request, model=self._header.model), conversation, emit)
        seconds = self._services.clock.monotonic() - started
        line = self._line(reply, evolve(Line(0), fingerprint=mark, seconds=round(max(seconds, 0.0), 6)))
        line = evolve(line, request=reduce_request(request, self._secrets.scrub))
        try:
            # Off the event loop: the disk may take its time, and other turns go on meanwhile.
            await asyncio.to_thread(self._cassette.append, line, conversation, self._header)
        except StoreError as error:
            raise ModelError("unknown", str(error)) from error
        return reply

    def _line(self, reply: Reply, line: Line) -> Line:
        items = tuple(load_item(self._secrets.scrub_json(dump_item(item))) for item in reply.items)
        usage = reply.usage
        if usage.cost is not None and not (isfinite(usage.cost) and usage.cost >= 0):
            usage = evolve(usage, cost=None)
        source = self._secrets.scrub(reply.source)
        line = evolve(line, stop=reply.stop, usage=usage, trust=reply.trust, source=source)
        written = as_written(items)
        if written is None:
            return evolve(line, items=items)
        return evolve(line, text=written[0], calls=written[1])


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"a {number}{ending}"
