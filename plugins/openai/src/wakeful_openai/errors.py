"""One classification for everything that goes wrong between a request and a whole reply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from wakeful.types import Json, ModelError, Usage, canonical
from wakeful_openai.kinds import OK, kind_of

#: Longest message in characters; a server's own words are cut to fit.
LONGEST = 300
MASK = "[secret]"
#: Shorter keys are placeholders, and are found in ordinary words.
SHORTEST_KEY = 6

_MARKUP = re.compile(r"^\s*<(!doctype|html|\?xml|head|body)", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_KEYS = re.compile(r"\bsk-[\w*.\-]{4,}|(?<=Bearer )[^\s,;\"\']+")


class Faults:
    """Makes the errors of one bound model.

    Args:
        model: its name.
        place: host and port, for connection problems.
        key: never part of a message.
        secrets: what else is never part of one.
    """

    def __init__(self, model: str, place: str, key: str, secrets: tuple[str, ...] = ()) -> None:
        self._model, self._place = f"openai:{model}", place
        hidden = {*secrets, key if len(key) >= SHORTEST_KEY else ""} - {""}
        self._secrets = sorted(hidden, key=len, reverse=True)  # one may hold another

    def error(
        self,
        kind: str,
        what: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> ModelError:
        """Return an error with a message of one line, without keys and of bounded length."""
        line = " ".join(f"{self._model}: {self._masked(what)}".split())
        line = "".join(char for char in line if char.isprintable())
        line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
        return ModelError(kind, line, retryable=retryable, retry_after=retry_after, usage=usage)

    def _masked(self, what: str) -> str:
        for secret in self._secrets:
            what = what.replace(secret, MASK)
        return _KEYS.sub(MASK, what)

    def of_status(self, status: int, headers: Mapping[str, str], body: str, now: datetime) -> ModelError:
        """Classify an answer with an error status."""
        found = self.of_body(parsed(body), status)
        told = headers.get("x-should-retry", "")
        if told in {"true", "false"} and found.kind not in {"auth", "permission"}:
            found.retryable = told == "true"
        if found.retryable:
            found.retry_after = retry_after(headers, now)
        return found

    def of_body(self, body: Json, status: int = OK, usage: Usage | None = None) -> ModelError:
        """Classify the body of an error: of a status, of a 200 that holds one, or of an event in a stream."""
        inner = body.get("error", body) if isinstance(body, dict) else body
        codes: list[str] = []
        said = ""
        if isinstance(inner, dict):
            codes = [str(inner[key]) for key in ("code", "type") if inner.get(key) is not None]
            said = _words(inner)
        elif isinstance(inner, str):
            said = shown(inner)
        said = said or shown(body)
        kind, retryable = kind_of(codes, status, said)
        label = kind.replace("_", " ") if kind != "unknown" else "error"
        number = "" if status == OK else f" ({status})"
        hint = "; is api_key, or OPENAI_API_KEY, right?" if kind == "auth" else ""
        return self.error(
            kind,
            f"{label}{number}: {self._masked(said)[: LONGEST - 80]}{hint}",
            retryable=retryable,
            usage=usage,
        )

    def of_transport(self, error: Exception, usage: Usage | None = None) -> ModelError:
        """Classify what the connection did: it was not made, too slow, or cut."""
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        name = type(cause).__name__
        if "Timeout" in name or isinstance(cause, TimeoutError):
            what = f"no answer in time from {self._place} ({name})"
            return self.error("timeout", what, retryable=True, usage=usage)
        if "Connect" in name:
            what = f"cannot connect to {self._place}: {cause or name}"
        else:
            what = f"the connection to {self._place} broke: {cause or name}"
        return self.error("network", what, retryable=True, usage=usage)

    def cut(self, usage: Usage | None = None) -> ModelError:
        """Return the error for a stream that ended before its reply did."""
        what = f"the stream from {self._place} ended before the reply did"
        return self.error("network", what, retryable=True, usage=usage)

    def broken(self, what: str, usage: Usage | None = None) -> ModelError:
        """Return the error for bytes that are no JSON; another try may bring whole ones."""
        return self.error("malformed", what, retryable=True, usage=usage)

    def odd(self, what: str, usage: Usage | None = None) -> ModelError:
        """Return the error for a reply that is JSON but cannot be read; says what was seen."""
        return self.error("malformed", f"the reply cannot be used: {what}", usage=usage)


def _words(inner: Mapping[str, Json]) -> str:
    for key in ("message", "detail", "error", "msg", "error_msg"):
        value = inner.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def parsed(text: str) -> Json:
    """Return ``text`` as JSON where it is JSON, else as it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


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


def shown(body: Json) -> str:
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
