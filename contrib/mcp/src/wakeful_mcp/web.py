"""A server behind an address: streamable HTTP, every message with a largest size."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from attrs import define

if TYPE_CHECKING:
    import httpx2

#: Seconds for a connection to be made, and to take what is written.
CONNECT_S = 15.0
#: Seconds beyond the limit of a call before a response that does not come is given up.
SLACK_S = 30.0
#: First status of HTTP that is an error.
ERROR = 400
#: Libraries that log addresses.
_TALKATIVE = ("httpx2", "mcp.client.streamable_http")


@define
class Heard:
    """The last status of an error, which the library does not tell, and the size of what was too large."""

    status: int = 0
    too_large: int = 0


@asynccontextmanager
async def reached(
    url: str,
    headers: Mapping[str, str],
    *,
    limit: int,
    timeout_s: float,
    heard: Heard,
    masked: Callable[[str], str],
) -> AsyncIterator[tuple[Any, Any]]:
    """Speak to a server as long as the context is open; yields the library's two streams.

    Args:
        url: its address. Redirects are followed within its origin only.
        headers: of every request.
        limit: largest message in bytes.
        timeout_s: of a call.
        heard: what went wrong is noted there.
        masked: takes secrets out of what libraries log.
    """
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def look(response: httpx2.Response) -> None:
        if response.status_code >= ERROR:
            heard.status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            message = (
                "the server compresses what it was asked not to"  # a limit on bytes must mean what is read
            )
            raise httpx2.DecodingError(message)
        kind = response.headers.get("content-type", "").lower()
        if not kind.startswith("text/event-stream"):  # the library bounds the events of a stream
            response.stream = _bounded(response.stream, limit, heard)

    timeout = httpx2.Timeout(CONNECT_S, read=timeout_s + SLACK_S)
    hooks = {"response": [look]}
    sent = {**headers, "accept-encoding": "identity"}
    with _quiet(masked):
        async with (
            httpx2.AsyncClient(headers=sent, timeout=timeout, event_hooks=hooks) as client,
            streamable_http_client(url, http_client=client, max_sse_event_size=limit) as streams,
        ):
            yield streams


@contextmanager
def _quiet(masked: Callable[[str], str]) -> Iterator[None]:
    """Take secrets out of what the libraries log meanwhile; an address may hold one."""

    def mask(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if masked(text) != text:
            record.msg, record.args = masked(text), ()
        return True

    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    for each in loggers:
        each.addFilter(mask)
    try:
        yield
    finally:
        for each in loggers:
            each.removeFilter(mask)


def _bounded(stream: Any, limit: int, heard: Heard) -> Any:
    """Return a stream of bytes that fails when it becomes larger than ``limit``."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in stream:
                size += len(piece)
                if size > limit:
                    heard.too_large = size
                    message = f"more than max_bytes = {limit:,}"
                    raise httpx2.StreamError(message)
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()
