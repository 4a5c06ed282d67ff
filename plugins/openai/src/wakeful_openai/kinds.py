"""Which kind of error an answer is: by its status, by its code, and by its words where they say more."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wakeful.models.faults import BY_STATUS, by_status

OK = 200
_BAD = 400

#: ``error.code`` or ``error.type`` (OpenAI's error guide, and what compatible servers call the same).
_BY_CODE: Mapping[str, tuple[str, bool]] = {
    "invalid_api_key": ("auth", False),
    "authentication_error": ("auth", False),
    "insufficient_quota": ("permission", False),
    "billing_hard_limit_reached": ("permission", False),
    "permission_error": ("permission", False),
    "insufficient_permissions": ("permission", False),
    "unsupported_country_region_territory": ("permission", False),
    "rate_limit_exceeded": ("rate_limit", True),
    "rate_limit_error": ("rate_limit", True),
    "overloaded_error": ("overloaded", True),
    "engine_overloaded": ("overloaded", True),
    "engine_overloaded_error": ("overloaded", True),
    "context_length_exceeded": ("context_too_long", False),
    "exceed_context_size_error": ("context_too_long", False),
    "string_above_max_length": ("context_too_long", False),
    "content_filter": ("refused", False),
    "content_policy_violation": ("refused", False),
    "invalid_prompt": ("refused", False),
    "server_is_overloaded": ("overloaded", True),
    "slow_down": ("overloaded", True),
    "server_error": ("server", True),
    "internal_error": ("server", True),
    "internal_server_error": ("server", True),
    "vector_store_timeout": ("timeout", True),
    "timeout": ("timeout", True),
    "model_not_found": ("unknown", False),
    "invalid_request_error": ("malformed", False),
}
#: Words that say more than a status of 400 or 500 does.
_BY_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"context (size|window|length|limit)|maximum (context|prompt|model) length"
            r"|(prompt|input|request|conversation) (is|was) too (long|large)|too many (input )?tokens"
            r"|reduce the length of|exceeds? the (available|model'?s?) (context|max)|max_model_len",
            re.IGNORECASE,
        ),
        "context_too_long",
    ),
    (
        re.compile(
            r"api[ _-]?key (not|is not|is in)\s*valid|(invalid|incorrect) api[ _-]?key", re.IGNORECASE
        ),
        "auth",
    ),
    (re.compile(r"content (management |safety )?(policy|filter)|safety system", re.IGNORECASE), "refused"),
)
#: Kinds that a code may make more definite; the others say enough.
_VAGUE = frozenset({"malformed", "server", "unknown"})


def kind_of(codes: list[str], status: int, said: str) -> tuple[str, bool]:
    """Return (kind, whether trying again may help).

    Args:
        codes: ``code`` and ``type`` of the error, as far as it has them.
        status: of the HTTP response; 200 for an error inside a reply.
        said: its words.
    """
    kind, retryable = by_status(status)
    for code in codes:
        if code in _BY_CODE and (status < _BAD or kind in _VAGUE or code == "insufficient_quota"):
            kind, retryable = _BY_CODE[code]
            break
        if code.isdigit() and status < _BAD and int(code) in BY_STATUS:
            kind, retryable = BY_STATUS[int(code)]
            break
    if kind in _VAGUE:
        better = next((name for words, name in _BY_WORDS if words.search(said)), "")
        kind, retryable = (better, False) if better else (kind, retryable)
    return kind, retryable
