"""What can go wrong between a request and a whole reply, told the same way by every provider over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from attrs import field, frozen

from wakeful.types import Json, ModelError, Usage, canonical

#: Longest message in characters; a server's own words are cut to fit.
LONGEST = 300
MASK = "[secret]"
#: Characters; shorter keys are placeholders, and are found in ordinary words: providers do not hide them.
SHORTEST_KEY = 6
#: HTTP status to kind and whether trying again may help (RFC 9110, 15; 529 is Anthropic's "overloaded").
BY_STATUS: Mapping[int, tuple[str, bool]] = {
    400: ("malformed", False),
    401: ("auth", False),
    402: ("permission", False),
    403: ("permission", False),
    404: ("unknown", False),
    408: ("timeout", True),
    409: ("server", True),
    413: ("context_too_long", False),
    422: ("malformed", False),
    425: ("server", True),
    429: ("rate_limit", True),
    501: ("server", False),
    503: ("overloaded", True),
    504: ("timeout", True),
    529: ("overloaded", True),
}
_BAD, _SERVER = 400, 500
_MARKUP = re.compile(r"^\s*<(!doctype|html|\?xml|head|body)", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_KEYS = re.compile(r"\bsk-[\w*.\-]{4,}|(?<=Bearer )[^\s,;\"\']+")


def _longest_first(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Order secrets so that one that holds another is found first."""
    return tuple(sorted({*secrets} - {""}, key=lambda secret: (-len(secret), secret)))


@frozen
class Faults:
    """Makes the errors of one bound model.

    Args:
        model: how messages name it, e.g. ``anthropic:claude-sonnet-5``.
        place: the address in use, for connection problems.
        secrets: never part of a message.
    """

    model: str
    place: str
    secrets: tuple[str, ...] = field(repr=False, converter=_longest_first)

    def error(
        self,
        kind: str,
        what: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> ModelError:
        """Return an error with a message of one line, without secrets and of bounded length."""
        line = " ".join(f"{self.model}: {self.masked(what)}".split())
        line = "".join(char for char in line if char.isprintable())
        line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
        return ModelError(kind, line, retryable=retryable, retry_after=retry_after, usage=usage)

    def masked(self, what: str) -> str:
        """Return ``what`` without secrets, and without what looks like a key."""
        for secret in self.secrets:
            what = what.replace(secret, MASK)
        return _KEYS.sub(MASK, what)

    def of_transport(self, error: Exception, usage: Usage | None = None) -> ModelError:
        """Classify what the connection did: it was not made, too slow, or cut."""
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        name = type(cause).__name__
        if "Timeout" in name or isinstance(cause, TimeoutError):
            what = f"no answer in time from {self.place} ({name})"
            return self.error("timeout", what, retryable=True, usage=usage)
        if "Connect" in name:
            what = f"cannot connect to {self.place}: {cause or name}"
        else:
            what = f"the connection to {self.place} broke: {cause or name}"
        return self.error("network", what, retryable=True, usage=usage)

    def broken(self, what: str, usage: Usage | None = None) -> ModelError:
        """Return the error for a reply that arrived but cannot be read; another try may give a whole one."""
        return self.error("malformed", what, retryable=True, usage=usage)


def by_status(status: int) -> tuple[str, bool]:
    """Return (kind, whether trying again may help) of an HTTP status.

    A status below 400 is that of an error inside a reply: it may pass, and nothing was acted on.
    """
    server = status >= _SERVER or status < _BAD
    return BY_STATUS.get(status, ("server" if server else "unknown", server))


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that the answer asks to wait, or None.

    Reads ``retry-after-ms``, and ``retry-after`` as seconds or as a date (RFC 9110, 10.2.3).
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            seconds = _until(value, now)
        if isfinite(seconds):
            return max(seconds, 0.0)
    return None


def _until(date: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return float("nan")
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()


def shown(body: object) -> str:
    """Return what a message may show of a body: the title of a page, a line of text, never everything."""
    if body is None or body in ("", {}):
        return "an empty answer"
    text = body if isinstance(body, str) else _spelled(body)
    if _MARKUP.match(text):
        title = _TITLE.search(text[:10_000])
        return f"an HTML page{f' ({title[1].strip()})' if title else ''} instead of an answer of the API"
    return text[:LONGEST]


def _spelled(body: Json) -> str:
    try:
        return canonical(body)
    except (TypeError, ValueError, RecursionError):
        return type(body).__name__
