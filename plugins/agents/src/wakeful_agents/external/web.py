"""A harness as an HTTP service: each step is one request that holds the whole conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field

from wakeful.types import Json
from wakeful_agents.external.process import HarnessError

if TYPE_CHECKING:
    import httpx2

#: The library that is needed, and the extra that brings it.
LIBRARY: Final = "httpx2"
#: Status of an answer that can be read.
_OK: Final = 200


def available() -> bool:
    """Whether the library is installed."""
    return find_spec(LIBRARY) is not None


@define(eq=False)
class Service:
    """A harness behind an address. It keeps nothing about a run, so any of its servers may answer.

    Args:
        url: where requests go.
        most: longest answer in bytes.
    """

    url: str
    most: int
    _client: httpx2.AsyncClient | None = field(default=None, init=False)

    async def ask(self, message: Mapping[str, Json]) -> str:
        """Send one message and return the answer's text.

        Raises:
            HarnessError: it cannot be reached, answers with an error, or with too much.
        """
        import httpx2

        if self._client is None:
            self._client = httpx2.AsyncClient(timeout=None, follow_redirects=False)
        body = json.dumps(message, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        try:
            async with self._client.stream("POST", self.url, content=body, headers=headers) as answer:
                if answer.status_code != _OK:
                    raise HarnessError(f"the harness answered with status {answer.status_code}")
                return (await self._read(answer)).decode("utf-8", "replace")
        except httpx2.HTTPError as error:
            raise HarnessError(f"the harness cannot be reached: {type(error).__name__}") from error

    async def _read(self, answer: Any) -> bytes:
        content = b""
        async for piece in answer.aiter_raw():  # unpacked, a few bytes could be any number
            content += piece
            if len(content) > self.most:
                raise HarnessError("the harness sent an answer that is too long")
        return content

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
