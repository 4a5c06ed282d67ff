"""A model of the Messages API, bound to one agent."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from attrs import define, field

from wakeful.models.faults import shown
from wakeful.models.tries import failed
from wakeful.types import (
    Call,
    Clock,
    Emit,
    Item,
    ModelError,
    Profile,
    Reply,
    Request,
    Stop,
    TextDelta,
    Trust,
    Usage,
)
from wakeful_anthropic.client import Clients, Connection
from wakeful_anthropic.errors import ApiFaults
from wakeful_anthropic.messages import Encoder
from wakeful_anthropic.profiles import PROVIDER
from wakeful_anthropic.reply import Answer, looked_up
from wakeful_anthropic.sse import Events, UnreadableError
from wakeful_anthropic.usage import Prices

if TYPE_CHECKING:
    import httpx2

#: Largest answer in one piece, in bytes: the longest output there is, many times over.
LARGEST_ANSWER = 64 * 2**20
#: Largest output limit of a reply in one piece, unless the settings name one: more would take over ten
#: minutes without a byte, by the rule of the SDK.
LONGEST_WHOLE = 21_333


@define(eq=False)
class AnthropicModel:
    """Asks once; whatever goes wrong is one classified error, and what it used travels with it.

    Args:
        profile: facts for the kernel; its ``output`` is the limit of a streamed reply.
        encoder: makes bodies.
        faults: makes errors.
        prices: counts what replies used.
        clients, connection: how the API is reached.
        clock: what time it is.
        streams: whether a reply that is watched streams.
        whole_tokens: output limit of a reply in one piece.
    """

    profile: Profile
    encoder: Encoder = field(repr=False)
    faults: ApiFaults = field(repr=False)
    prices: Prices = field(repr=False)
    clients: Clients = field(repr=False)
    connection: Connection
    clock: Clock = field(repr=False)
    streams: bool
    whole_tokens: int

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:  # noqa: ARG002  (the protocol)
        """Ask once; see :class:`wakeful.types.Model`.

        Raises:
            ModelError: classified, with what was used as far as it was reported.
        """
        watched = emit if self.streams else None
        limit = self.profile.output if watched is not None else self.whole_tokens
        body = self.encoder.body(request, max_tokens=limit, stream=watched is not None)
        answer, fault = Answer(), None
        try:
            response = await self.clients.post(self.connection, body)
            answer.taken = True
            try:
                await self._read(response, answer, watched)
            finally:
                await response.aclose()
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001  (every failure is classified)
            fault = self._classified(error, answer)
        except BaseException:  # cancelled or out of time; there is no error for usage to travel with
            failed(self._used(answer))
            raise
        if fault is not None:
            raise fault  # outside of the handler: the request with its headers hangs on the SDK's error
        return self._reply(answer)

    async def close(self) -> None:
        """Close the connections; they open again when they are needed."""
        await self.clients.close()

    async def _read(self, response: httpx2.Response, answer: Answer, emit: Emit | None) -> None:
        if emit is not None and "text/event-stream" in response.headers.get("content-type", ""):
            await self._read_events(response, answer, emit)
        else:
            self._read_message(await _all(response), answer)

    async def _read_events(self, response: httpx2.Response, answer: Answer, emit: Emit) -> None:
        events = Events()
        async for chunk in response.aiter_bytes():
            shown_now: list[tuple[str, bool]] = []
            try:
                for event in events.feed(chunk):
                    if isinstance(event, dict) and event.get("type") == "error":
                        answer.count(event.get("usage"))
                        raise self.faults.of_body(event, HTTPStatus.OK, self._used(answer))
                    shown_now.append(answer.take_event(event))
            finally:
                await _emit(shown_now, emit)
        if not answer.whole:
            raise self.faults.error(
                "network",
                "the stream ended before the reply did",
                retryable=True,
                usage=self._used(answer),
            )

    def _read_message(self, data: bytes, answer: Answer) -> None:
        """Take a reply in one piece; also what a proxy that knows no streams sends instead of one."""
        try:
            message = json.loads(data)
        except ValueError:
            text = data.decode("utf-8", "replace")
            page = text.lstrip().startswith("<")
            what = shown(text) if page else f"the answer is not JSON: {shown(text)}"
            used = self._used(answer)
            raise self.faults.error("malformed", what, retryable=not page, usage=used) from None
        if isinstance(message, dict) and (message.get("type") == "error" or message.get("error")):
            answer.count(message.get("usage"))
            raise self.faults.of_body(message, HTTPStatus.OK, self._used(answer))
        answer.take_message(message)

    def _classified(self, error: Exception, answer: Answer) -> ModelError:
        import httpx2
        from anthropic import APIConnectionError, APIStatusError

        used = self._used(answer)
        if isinstance(error, APIStatusError):
            return self.faults.of_status(error, self.clock.now(), used)
        if isinstance(error, APIConnectionError | httpx2.HTTPError | OSError):
            return self.faults.of_transport(error, used)
        if isinstance(error, UnreadableError):
            return self.faults.broken(str(error), used)
        return self.faults.error("unknown", f"{type(error).__name__}: {error}", usage=used)

    def _used(self, answer: Answer) -> Usage | None:
        """Return what an unfinished reply has used; None if the API did not take the request."""
        return self.prices.usage(answer.raw_usage, self.clock.now()) if answer.taken else None

    def _reply(self, answer: Answer) -> Reply:
        usage = self.prices.usage(answer.raw_usage, self.clock.now())
        try:
            items = answer.items()
            stop = answer.stop(items)
        except UnreadableError as error:
            raise self.faults.broken(str(error), usage) from None
        if stop is Stop.REFUSED:
            items = self._refused(items, answer, usage)
        found = looked_up(items)
        if found:
            return Reply(items, usage, stop, trust=Trust.UNTRUSTED, source=f"{PROVIDER}:{found}")
        return Reply(items, usage, stop)

    def _refused(self, items: tuple[Item, ...], answer: Answer, usage: Usage) -> tuple[Item, ...]:
        """Return what a model said before it refused, without calls: nothing of a refusal is acted on."""
        kept = tuple(item for item in items if not isinstance(item, Call))
        if kept:
            return kept
        details = answer.details if isinstance(answer.details, dict) else {}
        why = details.get("explanation") or details.get("category")
        raise self.faults.error("refused", f"the model refused{f': {why}' if why else ''}", usage=usage)


async def _all(response: httpx2.Response) -> bytes:
    pieces, size = [], 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > LARGEST_ANSWER:
            raise UnreadableError(f"the answer is larger than {LARGEST_ANSWER >> 20} MB")
        pieces.append(chunk)
    return b"".join(pieces)


async def _emit(pieces: list[tuple[str, bool]], emit: Emit) -> None:
    """Pass on what arrived together in as few pieces as possible."""
    text, thinking = "", False
    for piece, kind in pieces:
        if not piece:
            continue
        if text and kind is not thinking:
            await emit(TextDelta(text, thinking))
            text = ""
        text, thinking = text + piece, kind
    if text:
        await emit(TextDelta(text, thinking))
