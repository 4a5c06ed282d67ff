"""The SDK's client for one bound model: made when it is first needed, and its answers as bytes.

Requests go through the SDK's ``post``, which does its keys, headers and transport, but neither its walk
over typed parameters nor its typed replies: those cost more than everything else together.
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from wakeful.models.faults import SHORTEST_KEY
from wakeful.types import Clock, ModelError
from wakeful_openai.errors import ApiFaults

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

#: Seconds to wait for a connection; a reply may take far longer.
CONNECT_S = 10.0


@cache
def _certificates() -> ssl.SSLContext:
    """Read the certificates once for all clients; that takes a tenth of a second."""
    import httpx2

    return httpx2.create_ssl_context()


class Connection:
    """Where one model is reached.

    Args:
        model: its name, for messages.
        url: the API's address.
        key: the key; never shown.
        timeout_s: seconds without a byte after which a request is given up.
        clock: for dates in ``Retry-After``.
    """

    def __init__(self, model: str, url: str, key: str, timeout_s: float, clock: Clock) -> None:
        self._key, self._timeout_s, self.clock = key, timeout_s, clock
        parts = urlsplit(url)
        user, _, place = parts.netloc.rpartition("@")
        self.url = parts._replace(netloc=place).geturl()
        self._headers: dict[str, str] = {}
        secrets: tuple[str, ...] = ()
        if user:  # sent as the address would send it: but the SDK and its transport log addresses
            spelled, password = b64encode(unquote(user).encode()).decode(), user.partition(":")[2]
            self._headers["Authorization"] = f"Basic {spelled}"
            secrets = (spelled, password, unquote(password))
        hidden = (*secrets, key) if len(key) >= SHORTEST_KEY else secrets
        self.faults = ApiFaults(f"openai:{model}", place, hidden)
        self._client: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._making = asyncio.Lock()

    @asynccontextmanager
    async def post(self, path: str, body: bytes, *, stream: bool) -> AsyncIterator[httpx2.Response]:
        """Give the answer to a request; with ``stream`` its body is still to be read.

        Raises:
            ModelError: no connection, or an answer with an error status; also while the body is read.
        """
        import httpx2
        import openai

        client = await self._ready()
        accept = "text/event-stream" if stream else "application/json"
        fault: ModelError | None = None
        try:
            response = await client.post(
                path,
                cast_to=httpx2.Response,
                content=body,
                options={"headers": {"Accept": accept}},
                stream=stream,
                stream_cls=openai.AsyncStream[object],
            )
            answer: httpx2.Response = response  # type: ignore[assignment]  # typed as a stream, cast as asked
            try:
                yield answer
            finally:
                await answer.aclose()
        except openai.APIStatusError as error:
            now = self.clock.now()
            text = error.response.text
            fault = self.faults.of_status(error.status_code, error.response.headers, text, now)
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            fault = self.faults.of_transport(error)
        if fault is not None:
            raise fault  # outside of the handler: the request with its headers hangs on the SDK's error

    async def _ready(self) -> AsyncOpenAI:
        loop = asyncio.get_running_loop()
        if self._client is not None and self._loop is loop:
            return self._client
        if self._loop is not loop:  # a client belongs to the loop it was first used in
            self._client, self._loop, self._making = None, loop, asyncio.Lock()
        async with self._making:
            if self._client is None:
                # Importing the SDK and reading certificates takes most of a second; other turns go on.
                self._client = await asyncio.to_thread(self._make)
            return self._client

    def _make(self) -> AsyncOpenAI:
        import httpx2
        import openai

        return openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self.url,
            timeout=httpx2.Timeout(self._timeout_s, connect=min(self._timeout_s, CONNECT_S)),
            max_retries=0,
            default_headers=self._headers or None,
            http_client=openai.DefaultAsyncHttpxClient(verify=_certificates()),
        )

    async def close(self) -> None:
        """Close the client, if there is one."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()
