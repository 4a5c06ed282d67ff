"""What the errors of the API, and of servers like it, mean: one classification for all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from wakeful.models.faults import LONGEST, Faults, retry_after, shown
from wakeful.types import Json, ModelError, Usage
from wakeful_openai.kinds import OK, kind_of


class ApiFaults(Faults):
    """Makes the errors of one bound model."""

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
            f"{label}{number}: {self.masked(said)[: LONGEST - 80]}{hint}",
            retryable=retryable,
            usage=usage,
        )

    def cut(self, usage: Usage | None = None) -> ModelError:
        """Return the error for a stream that ended before its reply did."""
        what = f"the stream from {self.place} ended before the reply did"
        return self.error("network", what, retryable=True, usage=usage)

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
