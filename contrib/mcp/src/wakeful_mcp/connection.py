"""One connection to a server: entered and left in one task, used by any."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import attrs
from attrs import field

from wakeful.types import Clock, Json
from wakeful.waiting import within
from wakeful_mcp.definitions import Definition, defined
from wakeful_mcp.log import Said, log
from wakeful_mcp.process import TOO_LARGE, spoken
from wakeful_mcp.setup import Setup
from wakeful_mcp.web import Heard, reached

#: Most pages of a list of tools, and most tools: a server must not fill memory with them.
PAGES, TOOLS = 100, 2_000
#: The library's code for a connection that is gone.
_CLOSED = -32_000
#: Words of the library for a session that the server has forgotten.
_FORGOTTEN = "Session terminated"


class LostError(Exception):
    """The connection is gone; its text says why."""


class RefusedError(Exception):
    """The server answered with an error of the protocol; the connection goes on."""


class TooLargeError(RefusedError):
    """The answer was larger than what is taken."""


@attrs.define(eq=False)
class Connection:
    """A server that has been greeted.

    Args:
        setup: of the server.
        client: the library's client, entered.
        clock: what waits are measured by.
        heard: what the library does not tell.
    """

    setup: Setup
    client: Any = field(repr=False)
    clock: Clock
    heard: Heard = field(factory=Heard)
    ended: asyncio.Event = field(factory=asyncio.Event, init=False)
    reason: str = field(default="", init=False)
    tools: Mapping[str, Definition] = field(factory=dict, init=False, repr=False)
    busy: int = field(default=0, init=False)
    _asked: int = field(default=0, init=False)
    _seen: int = field(default=0, init=False)
    _listing: asyncio.Lock = field(factory=asyncio.Lock, init=False)

    def end(self, reason: str) -> None:
        """Give the connection up."""
        if not self.ended.is_set():
            self.reason = reason
            self.ended.set()

    async def fresh(self) -> Mapping[str, Definition]:
        """Return the server's tools as they are now; calls at the same time share one answer.

        Raises:
            LostError: it does not answer any more.
            RefusedError: it is busy with other calls.
        """
        self._asked += 1
        asked = self._asked
        async with self._listing:
            if self._seen < asked:
                covered = self._asked
                self.tools = await self._list()
                self._seen = covered
        return self.tools

    async def _list(self) -> dict[str, Definition]:
        try:
            return await within(self.clock, self.setup.start_s, self._pages())
        except TimeoutError:
            what = f"it did not list its tools within {self.setup.start_s:g} s"
            if self.busy:  # perhaps it does one thing at a time
                raise RefusedError(what) from None
            raise self._lost(what) from None
        except (LostError, RefusedError):
            raise
        except Exception as error:
            raise self._lost(f"it did not list its tools: {one_line(error)}") from error

    async def _pages(self) -> dict[str, Definition]:
        from mcp.types import ListToolsRequest, ListToolsResult, PaginatedRequestParams

        found: dict[str, Definition] = {}
        cursor: str | None = None
        for _ in range(PAGES):
            request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
            page = await self._request(request, ListToolsResult)
            for tool in page.tools:
                hints = tool.annotations.model_dump(by_alias=True) if tool.annotations else {}
                try:
                    made = defined(tool.name, tool.description, tool.input_schema, hints)
                except ValueError as error:
                    log.warning("%s: a tool is left out: %s", self.setup.name, error)
                    continue
                found[made.name] = made
            cursor = page.next_cursor
            if not cursor:
                return found
            if len(found) > TOOLS:
                break
        what = f"it lists more than {TOOLS:,} tools, or more than {PAGES} pages of them"
        raise self._lost(what)

    async def call(self, tool: str, args: Mapping[str, Json], key: str) -> Any:
        """Call a tool and return what the library made of the answer.

        Args:
            tool: the server's name of it.
            args: checked arguments.
            key: idempotency key, for servers that look at it.

        Raises:
            LostError: the connection ended before the answer came.
            RefusedError: the server refused, or asks for something that it cannot get here.
        """
        from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult, InputRequiredResult
        from pydantic import TypeAdapter

        meta: Any = {"wakeful/idempotencyKey": key}
        params = CallToolRequestParams(name=tool, arguments=dict(args), _meta=meta)
        answer: TypeAdapter[Any] = TypeAdapter(CallToolResult | InputRequiredResult)
        self.busy += 1
        try:
            result = await self._request(CallToolRequest(params=params), answer)
        finally:
            self.busy -= 1
        if not isinstance(result, CallToolResult):
            message = "it wants to ask a person or a model something, which is not supported"
            raise RefusedError(message)
        return result

    async def _request(self, request: Any, answer: Any) -> Any:
        """Send a request and return its answer; the library's errors become this module's.

        Not the library's ``call_tool``: it fails an answer that does not fit the server's own output
        schema, after the tool has done its work.
        """
        from mcp import MCPError

        if self.ended.is_set():
            raise LostError(self.reason)
        try:
            return await self.client.session.send_request(request, answer)
        except MCPError as error:
            if error.code == TOO_LARGE or self.heard.too_large:
                self.heard.too_large = 0
                raise TooLargeError(one_line(error)) from error
            if error.code == _CLOSED or error.message == _FORGOTTEN:
                raise self._lost(self._why(error)) from error
            raise RefusedError(self._why(error)) from error
        except ValueError as error:  # pydantic's own
            message = "its answer is not what the protocol expects"
            raise RefusedError(message) from error

    def _why(self, error: BaseException) -> str:
        status, self.heard.status = self.heard.status, 0
        return f"HTTP status {status}" if status else one_line(error)

    def _lost(self, reason: str) -> LostError:
        self.end(reason)
        return LostError(self.reason)


def one_line(error: BaseException) -> str:
    """Return what went wrong in one line; of a group of errors, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no program or folder {str(error.filename)!r}"
    text = " ".join(str(error).split())[:300]
    return text or type(error).__name__


@asynccontextmanager
async def connected(setup: Setup, clock: Clock, masked: Callable[[str], str]) -> AsyncIterator[Connection]:
    """Connect to a server and greet it; the connection holds as long as the context is open.

    Args:
        setup: how it is reached.
        clock: what waits are measured by.
        masked: takes secrets out of what is logged.

    Raises:
        LostError: it cannot be reached, or ended while it was greeted.
        Exception: whatever else the library raises.
    """
    # Importing the library takes a second or two, in which others shall run.
    await asyncio.to_thread(__import__, "mcp.client.streamable_http")
    opened = _process(setup, clock, masked) if setup.kind == "stdio" else _address(setup, clock, masked)
    async with opened as connection:
        yield connection


@asynccontextmanager
async def _process(setup: Setup, clock: Clock, masked: Callable[[str], str]) -> AsyncIterator[Connection]:
    said = Said(setup.name, clock, masked)
    reasons: list[str] = []
    made: list[Connection] = []

    def ended(reason: str) -> None:
        reasons.append(reason)
        for each in made:
            each.end(reason or "it ended")

    running = spoken(
        setup.command,
        setup.args,
        setup.environment(),
        setup.cwd,
        limit=setup.max_bytes,
        clock=clock,
        said=said,
        ended=ended,
    )
    async with running as talk:
        try:
            async with _greeted((talk.read, talk.write)) as client:
                connection = Connection(setup, client, clock)
                made.append(connection)
                for reason in reasons:
                    connection.end(reason or "it ended")
                yield connection
        except Exception as error:
            if not made and reasons:
                await talk.settle()
                raise LostError(talk.how() or next(filter(None, reasons), "it ended")) from error
            raise
        if not connection.reason or connection.reason == "it ended":
            await talk.settle()
            connection.reason = talk.how() or connection.reason


@asynccontextmanager
async def _address(setup: Setup, clock: Clock, masked: Callable[[str], str]) -> AsyncIterator[Connection]:
    heard = Heard()
    try:
        streams = reached(
            setup.url,
            dict(setup.headers),
            limit=setup.max_bytes,
            timeout_s=setup.timeout_s,
            heard=heard,
            masked=masked,
        )
        async with streams as pair, _greeted(pair) as client:
            yield Connection(setup, client, clock, heard)
    except Exception as error:
        if heard.status:
            message = f"HTTP status {heard.status}"
            raise LostError(message) from error
        raise


@asynccontextmanager
async def _greeted(streams: tuple[Any, Any]) -> AsyncIterator[Any]:
    """Greet the server behind two streams; yields the library's client."""
    from mcp import Client
    from mcp.types import Implementation

    from wakeful import __version__

    @asynccontextmanager
    async def transport() -> AsyncIterator[tuple[Any, Any]]:
        yield streams

    about = Implementation(name="wakeful", version=__version__)
    async with Client(transport(), client_info=about, cache=None) as client:
        yield client
