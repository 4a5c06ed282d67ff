"""Connections: one client of the official SDK for all models that reach the same place in the same way."""

from __future__ import annotations

import asyncio
import os
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from attrs import define, field, frozen

from wakeful.models.faults import SHORTEST_KEY
from wakeful.types import ConfigError, Problem
from wakeful_anthropic.settings import AnthropicSettings

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

#: Environment variables that hold a key and a token, as the SDK reads them.
KEY, TOKEN = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"
#: The one that holds an address.
URL = "ANTHROPIC_BASE_URL"
#: Longest wait for a connection in seconds, of ``timeout_s``; many conversations may start at once.
CONNECT_S = 30.0
#: Where the API is, relative to the base URL.
PATH = "/v1/messages"
#: What the SDK uses without a base URL, for messages.
HOME = "https://api.anthropic.com"


@frozen
class Connection:
    """How a place is reached. Equal ones share a client.

    Args:
        key, token: one of them is given.
        base_url: empty for the SDK's own; without what stands before an ``@`` in the address.
        timeout_s: seconds without a byte.
        betas: names for the beta header.
        user: ``name:password`` that stood in the address.
    """

    key: str = field(repr=False)
    token: str = field(repr=False)
    base_url: str
    timeout_s: float
    betas: tuple[str, ...]
    user: str = field(default="", repr=False)

    @classmethod
    def of(cls, settings: AnthropicSettings) -> Connection:
        """Return what the settings and the environment say; nothing is connected.

        Raises:
            ConfigError: there is no key, or it or the address cannot be one.
        """
        key = settings.api_key or os.environ.get(KEY, "")
        token = "" if key else os.environ.get(TOKEN, "")
        problems = []
        if not key and not token:
            what = f"no API key: set {KEY} in the environment, or api_key under [plugins.anthropic]"
            problems.append(Problem("", what))
        elif not (key + token).isascii() or any(char.isspace() for char in key + token):
            where = (
                "plugins.anthropic.api_key"
                if settings.api_key
                else f"the environment's {KEY if key else TOKEN}"
            )
            problems.append(
                Problem("", f"{where} is not a key: it holds blanks, line breaks or other characters")
            )
        given = settings.base_url or os.environ.get(URL, "")
        base_url, user = _without_user(given.rstrip("/").removesuffix("/v1"))
        if base_url and not base_url.startswith(("http://", "https://")):
            where = "plugins.anthropic.base_url" if settings.base_url else f"the environment's {URL}"
            what = f"{where} must begin with http:// or https://, not {base_url!r}"
            problems.append(Problem("", what))
        if problems:
            raise ConfigError(problems)
        return cls(key, token, base_url, settings.timeout_s, settings.betas, user)

    @property
    def place(self) -> str:
        """The address, for messages."""
        return self.base_url or HOME

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown anywhere."""
        password = self.user.partition(":")[2]
        keys = {key for key in (self.key, self.token) if len(key) >= SHORTEST_KEY}
        hidden = {*keys, self._basic, password, quote(password, safe="")} - {""}
        return tuple(sorted(hidden, key=len, reverse=True))  # one may hold another

    @property
    def headers(self) -> dict[str, str]:
        """What every request has beside the SDK's own headers."""
        headers = {"anthropic-beta": ",".join(self.betas)} if self.betas else {}
        if self.user:  # as the address would: but the SDK and its transport log addresses
            headers["Authorization"] = f"Basic {self._basic}"
        return headers

    @property
    def _basic(self) -> str:
        return b64encode(self.user.encode()).decode()


def _without_user(url: str) -> tuple[str, str]:
    """Return an address without its user information, and that."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, ""
    user, at, place = parts.netloc.rpartition("@")
    return (parts._replace(netloc=place).geturl(), unquote(user)) if at else (url, "")


@define(eq=False)
class Clients:
    """The clients of a plugin, made in the event loop that first needs them."""

    _open: dict[Connection, tuple[asyncio.AbstractEventLoop, AsyncAnthropic]] = field(
        factory=dict, repr=False
    )
    _loaded: bool = False

    async def post(self, connection: Connection, body: bytes) -> httpx2.Response:
        """Send a body and return the answer, its own body unread; closing it is the caller's.

        Raises:
            anthropic.APIStatusError: the answer is an error.
            anthropic.APIConnectionError: there is no answer.
        """
        client = await self._client(connection)
        import httpx2

        # The SDK's typed method walks and spells everything anew, 4 to 5 ms a request with 60 tools; its
        # documented way to send a request of one's own does neither.
        return await client.post(PATH, cast_to=httpx2.Response, content=body, stream=True)

    async def close(self) -> None:
        """Close every client of this event loop; what is used again opens again."""
        here, clients = asyncio.get_running_loop(), list(self._open.values())
        self._open.clear()
        for loop, client in clients:
            if loop is here:
                await client.close()

    async def _client(self, connection: Connection) -> AsyncAnthropic:
        if not self._loaded:  # the SDK and the prices take a second to import: not on the event loop
            await asyncio.to_thread(_load)
            self._loaded = True
        here = asyncio.get_running_loop()
        found = self._open.get(connection)
        if found is None or found[0] is not here:
            self._open[connection] = found = (here, _made(connection))
        return found[1]


def _load() -> None:
    import anthropic  # noqa: F401  (for its effect: later imports are free)
    import genai_prices  # noqa: F401  (same)


def _made(connection: Connection) -> AsyncAnthropic:
    from anthropic import AsyncAnthropic, Timeout

    seconds = connection.timeout_s
    return AsyncAnthropic(
        api_key=connection.key or None,
        auth_token=connection.token or None,
        base_url=connection.place,
        timeout=Timeout(seconds, connect=min(seconds, CONNECT_S)),
        max_retries=0,  # the kernel waits and asks again
        default_headers=connection.headers or None,
    )
