"""The errors of each provider, in its own status, words and format."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from attrs import define

from wakeful.testing.wire.canon import Body
from wakeful.types import WakefulError, nearest

#: The ``type`` of an error of which only the status was scripted.
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    529: "overloaded_error",
}
PAGE = (
    "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n"
    "<center><h1>{0}</h1></center>\r\n</body>\r\n</html>\r\n"
)
INVALID = "invalid_request_error"

Known = tuple[int, str, str | None, str | None, str]

#: By kind and provider: status, ``type``, ``code``, ``param``, message. From the providers' error pages and
#: from what their endpoints are seen to answer. ``openai-responses`` falls back to ``openai``.
ERRORS: Mapping[str, Mapping[str, Known]] = {
    "auth": {
        "anthropic": (401, "authentication_error", None, None, "invalid x-api-key"),
        "openai": (401, INVALID, "invalid_api_key", None, "Incorrect API key provided: k."),
    },
    "permission": {
        "anthropic": (
            *(403, "permission_error", None, None),
            "Your API key does not have permission to use the specified resource.",
        ),
        "openai": (
            *(403, INVALID, "insufficient_permissions", None),
            "You have insufficient permissions for this operation.",
        ),
    },
    "not_found": {
        "anthropic": (404, "not_found_error", None, None, "model: no-such-model"),
        "openai": (404, INVALID, "model_not_found", None, "The model `no-such-model` does not exist."),
    },
    "context_too_long": {
        "anthropic": (400, INVALID, None, None, "prompt is too long: 214335 tokens > 200000 maximum"),
        "openai": (
            *(400, INVALID, "context_length_exceeded", "messages"),
            "This model's maximum context length is 128000 tokens. Your messages resulted in 214335 tokens.",
        ),
        "openai-responses": (
            *(400, INVALID, "context_length_exceeded", "input"),
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ),
    },
    "too_large": {
        "anthropic": (413, "request_too_large", None, None, "Request exceeds the maximum size"),
        "openai": (413, INVALID, None, None, "Request entity too large"),
    },
    "rate_limit": {
        "anthropic": (429, "rate_limit_error", None, None, "This request would exceed your rate limit."),
        "openai": (429, "tokens", "rate_limit_exceeded", None, "Rate limit reached. Please try again in 1s."),
    },
    "quota": {
        "anthropic": (
            400,
            INVALID,
            None,
            None,
            "Your credit balance is too low to access the Anthropic API.",
        ),
        "openai": (
            *(429, "insufficient_quota", "insufficient_quota", None),
            "You exceeded your current quota, please check your plan and billing details.",
        ),
    },
    "blocked": {
        "anthropic": (400, INVALID, None, None, "Output blocked by content filtering policy"),
        "openai": (
            *(400, INVALID, "invalid_prompt", None),
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        ),
    },
    "server": {
        "anthropic": (500, "api_error", None, None, "Internal server error"),
        "openai": (500, "server_error", None, None, "The server had an error while processing your request."),
    },
    "overloaded": {
        "anthropic": (529, "overloaded_error", None, None, "Overloaded"),
        "openai": (503, "server_error", "server_is_overloaded", None, "The engine is currently overloaded."),
    },
    "timeout": {
        "anthropic": (504, "timeout_error", None, None, "The request timed out."),
        "openai": (504, "server_error", None, None, "The request timed out."),
    },
}


@define
class FaultError(Exception):
    """A request that is answered with an error.

    Args:
        status: of the HTTP response; 200 is possible.
        message: for people.
        type: the provider's word for it.
        code: OpenAI's finer word for it.
        param: the argument that OpenAI blames.
        headers: of the response.
        html: a page to send instead of JSON.
    """

    status: int
    message: str
    type: str = ""
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = {}
    html: str = ""

    @property
    def kind(self) -> str:
        """The provider's word for it, or the usual one of the status."""
        return self.type or KINDS.get(self.status, "api_error")


def scripted(error: Body, api: str) -> FaultError:
    """Return the error that a reply's ``error`` describes.

    Args:
        error: the object.
        api: ``anthropic``, ``openai-chat`` or ``openai-responses``.

    Raises:
        WakefulError: no provider has an error of that kind.
    """
    known: Known = (500, "", None, None, "scripted error")
    if "kind" in error:
        if error["kind"] not in ERRORS:
            raise WakefulError(f"no error of kind {error['kind']!r}{nearest(error['kind'], ERRORS)}")
        known = _known(error["kind"], api)
    status, kind, code, param, message = known
    headers = {}
    if "retry_after" in error:
        headers["retry-after"] = str(error["retry_after"])
    if "should_retry" in error:
        headers["x-should-retry"] = str(error["should_retry"]).lower()
    status = int(error.get("status", status))
    return FaultError(
        status,
        error.get("message", message),
        error.get("type", kind),
        error.get("code", code),
        error.get("param", param),
        headers,
        _page(error.get("html"), status),
    )


def too_long(api: str, tokens: int, limit: int) -> FaultError:
    """Return the provider's error for a prompt of too many tokens."""
    status, kind, code, param, message = _known("context_too_long", api)
    message = (
        message.replace("214335", str(tokens)).replace("200000", str(limit)).replace("128000", str(limit))
    )
    return FaultError(status, message, kind, code, param)


def _known(kind: str, api: str) -> Known:
    found = ERRORS[kind]
    return found.get(api) or found[api.partition("-")[0]]


def _page(html: Any, status: int) -> str:
    if not html or isinstance(html, str):
        return html or ""
    known = status in set(HTTPStatus)
    return PAGE.format(f"{status} {HTTPStatus(status).phrase}" if known else str(status))
