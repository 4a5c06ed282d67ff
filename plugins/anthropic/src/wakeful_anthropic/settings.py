"""The settings of ``[plugins.anthropic]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Attribute, field, frozen

#: Smallest thinking budget in tokens that the API takes (its reference, ``thinking.budget_tokens``).
SMALLEST_BUDGET = 1024


def _at_least(least: float, *, or_zero: bool = False) -> Any:
    def check(_: object, attribute: Attribute[Any], value: float) -> None:
        if value < least and not (or_zero and value == 0):
            also = "0 or " if or_zero else ""
            raise ValueError(f"{attribute.name} must be {also}at least {least:g}, not {value:g}")

    return check


def _help(text: str) -> dict[str, str]:
    return {"help": text}


@frozen
class ModelFacts:
    """Facts about one model that replace what ``profiles.toml`` says; what is left out stays."""

    window: int | None = field(default=None, metadata=_help("context window in tokens"))
    output: int | None = field(default=None, metadata=_help("output limit in tokens"))
    minimum: int | None = field(default=None, metadata=_help("smallest prefix in tokens that is cached"))
    breakpoints: int | None = field(default=None, metadata=_help("cache breakpoints in one request"))
    thinking: Literal["none", "budget", "adaptive"] | None = field(
        default=None, metadata=_help("how it is told to think")
    )
    price: str | None = field(default=None, metadata=_help("the name that genai-prices knows it by"))
    images: bool | None = field(default=None, metadata=_help("whether it reads images"))
    parallel_calls: bool | None = field(
        default=None, metadata=_help("whether it makes several calls at once")
    )
    tool_search: bool | None = field(default=None, metadata=_help("whether it searches deferred tools"))


@frozen
class AnthropicSettings:
    """Settings of ``[plugins.anthropic]``."""

    api_key: str = field(
        default="",
        repr=False,
        metadata=_help(
            'the key, as `"${env:NAME}"`; empty: `ANTHROPIC_API_KEY`, or the token in `ANTHROPIC_AUTH_TOKEN`'
        ),
    )
    base_url: str = field(
        default="",
        metadata=_help(
            "where the API is; empty: `ANTHROPIC_BASE_URL`, else Anthropic's; a final `/v1` is dropped"
        ),
    )
    timeout_s: float = field(
        default=600.0,
        validator=_at_least(0.001),
        metadata=_help("seconds without a byte after which a request is given up"),
    )
    max_tokens: int = field(
        default=0,
        validator=_at_least(0),
        metadata=_help("output limit of one reply in tokens, thinking included; 0: the model's"),
    )
    stream: bool = field(
        default=True,
        metadata=_help("let replies that are watched stream; side questions never do"),
    )
    thinking_tokens: int = field(
        default=0,
        validator=_at_least(SMALLEST_BUDGET, or_zero=True),
        metadata=_help(
            "budget for thinking in tokens, within `max_tokens`; one that chooses its own is told to think;"
            " 0: what the model does by itself"
        ),
    )
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = field(
        default="", metadata=_help("how hard the model tries; empty: its own default")
    )
    parallel_calls: bool = field(
        default=True, metadata=_help("whether the model may make several calls in one reply")
    )
    cache_ttl: Literal["5m", "1h"] = field(
        default="5m",
        metadata=_help("how long what a cache plugin marks is kept; an hour costs more to write"),
    )
    tool_search: Literal["", "bm25", "regex"] = field(
        default="",
        metadata=_help(
            "which of the provider's searches finds deferred tools, and defer all; empty: `bm25` finds those"
            " that are deferred anyway"
        ),
    )
    tool_search_keep: tuple[str, ...] = field(
        default=(),
        metadata=_help("with `tool_search`: tools that stay declared in full, as names or globs (`crm_*`)"),
    )
    server_tools: tuple[Mapping[str, Any], ...] = field(
        default=(),
        metadata=_help(
            "tools that the provider runs, as tables the API's reference describes; nobody judges what they"
            " look up, and what they find taints the conversation"
        ),
    )
    betas: tuple[str, ...] = field(
        default=(),
        metadata=_help("names for the `anthropic-beta` header, e.g. `context-management-2025-06-27`"),
    )
    models: Mapping[str, ModelFacts] = field(
        factory=dict,
        metadata=_help('facts per model, `[plugins.anthropic.models."name"]`; the longest beginning counts'),
    )
