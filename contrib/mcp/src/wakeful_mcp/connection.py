"""One connection to a server: what it offers now, and calls of its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import attrs
from attrs import field

from wakeful.types import Clock, Json
from wakeful.waiting import within
from wakeful_mcp.definitions import Definition, defined
from wakeful_mcp.log import log
from wakeful_mcp.process import TOO_LARGE
from wakeful_mcp.setup import Setup
from wakeful_mcp.web import Heard

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
    _known: dict[str, tuple[Any, Definition | None]] = field(factory=dict, init=False, repr=False)
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
        before, self._known = self._known, {}
        cursor: str | None = None
        for _ in range(PAGES):
            request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
            page = await self._request(request, ListToolsResult)
            for tool in page.tools:
                made = self._defined(tool, before)
                if made is not None:
                    found[made.name] = made
            cursor = page.next_cursor
            if not cursor:
                return found
            if len(found) > TOOLS:
                break
        what = f"it lists more than {TOOLS:,} tools, or more than {PAGES} pages of them"
        raise self._lost(what)

    def _defined(self, tool: Any, before: Mapping[str, tuple[Any, Definition | None]]) -> Definition | None:
        """Return the definition of a listed tool, the one from before if the server says the same."""
        said = (tool.description, tool.input_schema, tool.annotations)
        known, made = before.get(tool.name, (None, None))
        if known != said:
            hints = tool.annotations.model_dump(by_alias=True) if tool.annotations else {}
            try:
                made = defined(tool.name, tool.description, tool.input_schema, hints)
            except ValueError as error:
                log.warning("%s: a tool is left out: %s", self.setup.name, error)
                made = None
        self._known[tool.name] = (said, made)
        return made

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
        from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult

        meta: Any = {"wakeful/idempotencyKey": key}
        params = CallToolRequestParams(name=tool, arguments=dict(args), _meta=meta)
        self.busy += 1
        try:
            result = await self._request(CallToolRequest(params=params), _answers())
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


@lru_cache(maxsize=1)
def _answers() -> Any:
    """Return what answers of calls are parsed by; made late, as the library is imported late."""
    from mcp.types import CallToolResult, InputRequiredResult
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(CallToolResult | InputRequiredResult)
    return adapter


def one_line(error: BaseException) -> str:
    """Return what went wrong in one line; of a group of errors, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no program or folder {str(error.filename)!r}"
    text = " ".join(str(error).split())[:300]
    return text or type(error).__name__
