"""The settings of ``[plugins.llamacpp]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen


@frozen
class LlamaCppSettings:
    """Settings of ``[plugins.llamacpp]``. Agents with the same model and settings share one engine."""

    context: int = field(
        default=8192,
        metadata={"help": "tokens of prompt and reply together, at most what the model was trained for"},
    )
    slots: int = field(
        default=1, metadata={"help": "replies made at once, each with a context of its own; more wait"}
    )
    threads: int = field(
        default=0,
        metadata={"help": "threads that compute; 0 is one for each core, too many on a busy machine"},
    )
    cache_mib: int = field(
        default=1024,
        metadata={"help": "memory in MiB for the caches of conversations that wait for their next turn"},
    )
    max_tokens: int = field(
        default=1024, metadata={"help": "most tokens of one reply; small models do not always find an end"}
    )
    chat_template: str = field(
        default="",
        metadata={
            "help": "a file with a Jinja template for prompts; empty takes the model's own, for `default` one"
            " that knows tools"
        },
    )
    start_s: float = field(
        default=120.0, metadata={"help": "seconds a request waits for the engine to load its model"}
    )
    timeout_s: float = field(
        default=600.0, metadata={"help": "seconds to wait for the next piece of a reply"}
    )
    extra: Mapping[str, Any] = field(
        factory=dict,
        metadata={"help": "more fields for the body of every request, e.g. `temperature`, `seed`, `grammar`"},
    )
