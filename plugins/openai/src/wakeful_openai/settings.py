"""The settings of ``[plugins.openai]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen


@frozen
class ModelFacts:
    """Facts about one model that replace what ``profiles.toml`` says; what is left out stays."""

    window: int | None = field(default=None, metadata={"help": "context window in tokens"})
    output: int | None = field(default=None, metadata={"help": "output limit in tokens"})
    family: Literal["breakpoint", "byte-prefix", "none"] | None = field(
        default=None, metadata={"help": "how its prompt cache works"}
    )
    minimum: int | None = field(default=None, metadata={"help": "smallest cacheable prefix in tokens"})
    cache_ttl: int | None = field(default=None, metadata={"help": "seconds a cached prefix lives"})
    native_tools: bool | None = field(
        default=None, metadata={"help": "if false, the model is told of its tools in text"}
    )
    reasoning: bool | None = field(
        default=None, metadata={"help": "whether it gives and takes reasoning items (Responses)"}
    )
    tool_search: bool | None = field(
        default=None, metadata={"help": "whether it searches deferred tools itself (Responses)"}
    )
    replay_reasoning: bool | None = field(
        default=None, metadata={"help": "whether `reasoning_content` is sent back (Chat)"}
    )
    cache_key: bool | None = field(
        default=None, metadata={"help": "whether `prompt_cache_key` is sent; by default to OpenAI only"}
    )
    images: bool | None = field(default=None, metadata={"help": "whether it reads images"})
    parallel_calls: bool | None = field(
        default=None, metadata={"help": "whether it makes several calls in one reply, and can be told not to"}
    )
    price: str | None = field(
        default=None, metadata={"help": "`provider:model` under which prices are looked up"}
    )


@frozen
class OpenAISettings:
    """Settings of ``[plugins.openai]``."""

    api_key: str = field(
        default="",
        repr=False,
        metadata={
            "help": 'the key, best as `"${env:NAME}"`; empty takes `OPENAI_API_KEY`; a server at `base_url`'
            " may need none"
        },
    )
    base_url: str = field(
        default="",
        metadata={
            "help": "where a compatible server listens, e.g. `http://127.0.0.1:8080/v1`; empty takes"
            " `OPENAI_BASE_URL`, else OpenAI"
        },
    )
    api: Literal["auto", "responses", "chat"] = field(
        default="auto",
        metadata={"help": "the protocol; `auto` is Responses for OpenAI and Chat Completions elsewhere"},
    )
    timeout_s: float = field(
        default=600.0, metadata={"help": "seconds to wait for the next piece of a reply"}
    )
    max_tokens: int = field(
        default=0, metadata={"help": "most tokens of one reply; 0 leaves it to the model"}
    )
    stream: bool = field(default=True, metadata={"help": "whether replies arrive piece by piece"})
    effort: str = field(
        default="", metadata={"help": "how hard a reasoning model thinks, e.g. `low`; empty is its default"}
    )
    reasoning_summary: Literal["", "auto", "concise", "detailed"] = field(
        default="",
        metadata={
            "help": "how a reasoning model sums up its thinking (Responses); empty asks for no summary"
        },
    )
    store: bool = field(default=False, metadata={"help": "whether OpenAI keeps the replies (Responses)"})
    parallel_calls: bool = field(
        default=True, metadata={"help": "whether a reply may hold several calls at once"}
    )
    extra: Mapping[str, Any] = field(
        factory=dict,
        metadata={"help": "more fields for the body of every request, for what a server understands"},
    )
    models: Mapping[str, ModelFacts] = field(
        factory=dict,
        metadata={"help": 'facts per model, `[plugins.openai.models."name"]`; the longest beginning counts'},
    )
