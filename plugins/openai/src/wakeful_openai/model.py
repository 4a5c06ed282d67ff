"""A bound model: asks once, streaming or not, and gives one reply or one classified error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from attrs import evolve

from wakeful.models.faults import shown
from wakeful.models.tries import failed
from wakeful.types import Emit, ModelError, Profile, Reply, Request, Text, TextDelta, Usage
from wakeful_openai.connection import Connection
from wakeful_openai.form import Form, Reader
from wakeful_openai.sse import Decoder, LineTooLongError
from wakeful_openai.usage import Prices

if TYPE_CHECKING:
    import httpx2

_DONE = b"[DONE]"
#: Seconds that the end of a finished stream is waited for, so that its connection can be used again.
LINGER_S = 0.5


class OpenAIModel:
    """One model of one server.

    Args:
        form: the protocol.
        connection: the server.
        stream: whether replies that are watched stream.
    """

    def __init__(self, form: Form, connection: Connection, *, stream: bool) -> None:
        facts = form.target.facts
        self.profile: Profile = facts.profile
        self._form, self._connection, self._stream = form, connection, stream
        self._faults = form.faults
        self._prices = Prices(form.target.model, facts.price, connection.url)
        self._prices_read: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"OpenAIModel({self._form.target.model!r}, {self._form.path!r})"

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Ask once; see :class:`wakeful.types.Model`.

        Raises:
            ModelError: classified, with what was used; ``reported`` is False where the server took the
                request and did not say.
        """
        stream = self._stream and emit is not None
        body = self._form.body(request, conversation, stream=stream)
        if self._prices_read is None:  # the price list takes half a second to read: beside the first request
            self._prices_read = asyncio.get_running_loop().run_in_executor(None, self._prices.load)
        taken = False
        try:
            async with self._connection.post(self._form.path, body, stream=stream) as response:
                taken = True
                if stream:
                    reply = await self._read_stream(response, request, emit)
                else:
                    reply = await self._read_whole(response.content, request)
        except ModelError as error:
            if error.usage is not None:
                error.usage = await self._priced(error.usage)
            elif taken:  # the end of a reply says what it used; one that broke before may have used a lot
                error.usage = Usage(reported=False)
            raise
        return evolve(reply, usage=await self._priced(reply.usage))

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    async def _priced(self, usage: Usage) -> Usage:
        reading, loop = self._prices_read, asyncio.get_running_loop()
        if reading is not None and not reading.done() and reading.get_loop() is loop:
            await asyncio.wait([reading])
        return self._prices.priced(usage, self._connection.clock.now())

    async def _read_stream(self, response: httpx2.Response, request: Request, emit: Emit | None) -> Reply:
        import httpx2

        reader, decoder = self._form.reader(request, emit), Decoder()
        pieces, done = response.aiter_bytes(), False
        fault: ModelError | None = None
        try:
            done = await _drive(pieces, decoder, reader)
            if done:
                await _drain(pieces)
        except LineTooLongError:
            fault = self._faults.odd("a line without an end", reader.usage)
        except httpx2.HTTPError as error:
            fault = self._faults.of_transport(error, reader.usage)
        except ModelError:
            raise  # has its usage with it
        except BaseException:  # cancelled, out of time, or nobody could be shown the text
            used = reader.usage or Usage(reported=False)
            failed(self._prices.priced(used, self._connection.clock.now()))
            raise
        if fault is not None:
            raise fault  # outside of the handler: the request with its headers hangs on the error
        if not done and not decoder.events and decoder.stray:
            return await self._not_a_stream(decoder.stray, request, emit)
        return reader.finish(done=done)

    async def _not_a_stream(self, body: bytes, request: Request, emit: Emit | None) -> Reply:
        """Read a reply that came whole although a stream was asked for."""
        reply = await self._read_whole(body, request)
        text = "".join(item.text for item in reply.items if isinstance(item, Text))
        if emit is not None and text:
            await emit(TextDelta(text))
        return reply

    async def _read_whole(self, content: bytes, request: Request) -> Reply:
        start = content.lstrip()[:6]
        if start.startswith((b"data:", b"event:")):
            return await self._unasked_stream(content, request)
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            text = content.decode(errors="replace").strip()
            if text.startswith("{"):
                raise self._faults.broken(f"the reply is broken JSON: {text}") from None
            raise self._faults.odd(shown(text)) from None
        if isinstance(body, dict) and (body.get("error") or body.get("object") == "error"):
            raise self._faults.of_body(body, usage=self._form.usage(body))
        return self._form.reply(body, request)

    async def _unasked_stream(self, content: bytes, request: Request) -> Reply:
        """Read a stream that came although a whole reply was asked for."""

        async def once() -> AsyncIterator[bytes]:
            yield content

        reader = self._form.reader(request, None)
        return reader.finish(done=await _drive(once(), Decoder(), reader))


async def _drive(pieces: AsyncIterator[bytes], decoder: Decoder, reader: Reader) -> bool:
    """Feed the reader until the server says that it is done; False if the stream just ended."""
    async for piece in pieces:
        for event, data in decoder.feed(piece):
            if data.strip() == _DONE or await reader.feed(event, data):
                return True
    for event, data in decoder.end():
        if data.strip() == _DONE or await reader.feed(event, data):
            return True
    return False


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    import httpx2

    try:
        async with asyncio.timeout(LINGER_S):
            async for _ in pieces:
                pass
    except (TimeoutError, httpx2.HTTPError):
        pass  # the reply is whole: all that is lost is a connection to use again
