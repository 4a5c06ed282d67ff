"""What the API's errors mean: one classification for all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from wakeful.models.faults import Faults, by_status, retry_after, shown
from wakeful.types import ModelError, Usage

if TYPE_CHECKING:
    from anthropic import APIStatusError

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


class ApiFaults(Faults):
    """Makes the errors of one bound model."""

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
            kind, retryable = by_status(status)
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
