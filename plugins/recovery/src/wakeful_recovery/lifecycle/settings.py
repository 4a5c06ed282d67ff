"""Settings of the entry point ``lifecycle``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Attribute, field, frozen
from attrs import validators as valid

from wakeful.types import Expiration

#: Message types of results, each of which may have an expiration of its own.
MESSAGE_TYPES = ("action-result", "loop-result", "sub-agent-result", "client-tool-result")
MODES = ("none", "remove", "compact")
METHODS = ("first_n_chars", "summary")

SUMMARY_PROMPT = (
    "Summarise the result below of a tool that an assistant called. Keep names, identifiers, numbers, dates "
    "and what failed; leave out what nobody will ask for. Answer with the summary alone."
)


def problem_of(expiration: Expiration) -> str:
    """Return what is wrong with an expiration; empty if nothing is."""
    if expiration.turns < 0:
        return f"turns: expected 0 or more, got {expiration.turns}"
    if expiration.mode not in MODES:
        return f"mode: expected one of {', '.join(MODES)}, got {expiration.mode!r}"
    if expiration.mode == "compact" and expiration.method not in METHODS:
        return f"method: mode 'compact' needs one of {', '.join(METHODS)}, got {expiration.method!r}"
    if expiration.method == "first_n_chars" and expiration.length <= 0:
        return "length: method 'first_n_chars' needs a length above 0, the characters to keep"
    return ""


def _checked(_: object, attribute: Attribute[Any], value: Mapping[str, Expiration]) -> None:
    for kind, expiration in value.items():
        if kind not in MESSAGE_TYPES:
            raise ValueError(
                f"{attribute.name}: {kind!r} is no message type; expected one of {', '.join(MESSAGE_TYPES)}"
            )
        if problem := problem_of(expiration):
            raise ValueError(f"{attribute.name}.{kind}: {problem}")


@frozen
class LifecycleSettings:
    """Settings of ``[plugins.lifecycle]``. An action's own ``expiration`` counts before these."""

    expirations: Mapping[str, Expiration] = field(
        factory=lambda: {"loop-result": Expiration(3), "sub-agent-result": Expiration(3)},
        validator=_checked,
        metadata={
            "help": "how results age by message type; `{}`: none. "
            "By default those of loops and sub-agents are removed after 3 turns"
        },
    )
    batch_share: float = field(
        default=0.65,
        converter=float,
        validator=[valid.gt(0), valid.lt(1)],
        metadata={"help": "share of the budget from which everything due changes at once, within a run"},
    )
    argument_chars: int = field(
        default=500,
        validator=valid.ge(100),
        metadata={"help": "arguments over this many characters shrink when a batch is made"},
    )
    summary_chars: int = field(
        default=1_000,
        validator=valid.ge(100),
        metadata={"help": "length asked of a summary, where the expiration has none"},
    )
    summary_prompt: str = field(
        default=SUMMARY_PROMPT,
        metadata={"help": "what the model is asked for a summary, where the expiration has no prompt"},
    )
