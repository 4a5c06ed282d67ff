"""One classification for everything that goes wrong between a request and a whole reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import isfinite
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from wakeful.types import Json, ModelError, Usage, canonical

if TYPE_CHECKING:
    from anthropic import APIStatusError

#: Longest message in characters; a provider's own words are cut to fit.
LONGEST = 300
MASK = "[secret]"

#: ``error.type`` of the API (its reference, "Errors") to kind and whether trying again may help.
_BY_TYPE: Mapping[str, tuple[str, bool]] = {
    "authentication_error": ("auth", False),
    "permission_error": ("permission", False),
    "billing_error": ("permission", False),
    "invalid_request_error": ("malformed", False),
    "not_found_error": ("unknown", False),
    "request_too_large": ("context_too_long", False),
    "rate_limit_error": ("rate_limit", True),
    "overloaded_error": ("overloaded", True),
    "timeout_error": ("timeout", True),
    "api_error": ("server", True),
    "conflict_error": ("server", True),
}
#: The same by HTTP status, for answers without a type: proxies, compatible servers.
_BY_STATUS: Mapping[int, tuple[str, bool]] = {
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
    504: ("timeout", True),
    529: ("overloaded", True),
}
#: What the API says in an ``invalid_request_error`` that is something more definite.
_BY_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"prompt is too long|exceeds? (the )?context|context (window|length|limit)", re.IGNORECASE
        ),
        "context_too_long",
    ),
    (re.compile(r"credit balance|spend(ing)? limit", re.IGNORECASE), "permission"),
    (re.compile(r"blocked by content filtering|violat\w+ .*usage polic", re.IGNORECASE), "refused"),
)
_MARKUP = re.compile(r"^\s*<(!doctype|html|\?xml|head|body)", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


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
    secrets: tuple[str, ...] = field(repr=False)

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
        for secret in self.secrets:
            what = what.replace(secret, MASK)
        line = " ".join(f"{self.model}: {what}".split())
        line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
        return ModelError(kind, line, retryable=retryable, retry_after=retry_after, usage=usage)

    def of_status(self, error: APIStatusError, now: datetime, usage: Usage | None = None) -> ModelError:
        """Classify an answer that is not a reply; also an error event of a stream, whose status is 200."""
        headers = error.response.headers
        found = self.of_body(error.body, error.status_code, usage)
        if found.retryable and headers.get("x-should-retry") == "false":
            found.retryable = False
        if found.retryable:
            found.retry_after = retry_after(headers, now)
        return found

    def of_body(self, body: object, status: int, usage: Usage | None = None) -> ModelError:
        """Classify the body of an error, parsed or as text."""
        inner: Any = body.get("error") if isinstance(body, dict) else None
        inner = inner if isinstance(inner, dict) else {}
        kind, retryable = _BY_TYPE.get(str(inner.get("type")), (None, False))
        if kind is None:
            kind, retryable = _of_status(status)
        said = str(inner.get("message") or "") or shown(body)
        if kind == "malformed":
            kind = next((better for words, better in _BY_WORDS if words.search(said)), kind)
        label = (
            kind.replace("_", " ")
            if kind != "unknown"
            else str(inner.get("type") or "error").replace("_", " ")
        )
        number = "" if status == HTTPStatus.OK else f" ({status})"
        return self.error(kind, f"{label}{number}: {said}", retryable=retryable, usage=usage)

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


def _of_status(status: int) -> tuple[str, bool]:
    if status == HTTPStatus.OK:  # an error inside a reply: it may pass, and nothing was acted on
        return "server", True
    server = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return _BY_STATUS.get(status, ("server" if server else "unknown", server))


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
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()


def shown(body: object) -> str:
    """Return what a message may show of a body: the title of a page, a line of text, never everything."""
    if body is None or body == "":
        return "an empty answer"
    text = body if isinstance(body, str) else _spelled(body)
    if _MARKUP.match(text):
        title = _TITLE.search(text[:10_000])
        return f"an HTML page{f' ({title[1].strip()})' if title else ''} instead of an answer of the API"
    return text[:LONGEST]


def _spelled(body: Json) -> str:
    try:
        return canonical(body)
    except (TypeError, ValueError):
        return type(body).__name__
