"""The settings of ``[plugins.multiplexer]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Attribute, field, frozen


def _not_negative(_: object, attribute: Attribute[Any], value: int) -> None:
    if value < 0:
        raise ValueError(f"{attribute.name} must be 0 or more, not {value}")


def _number(default: int, text: str) -> Any:
    return field(default=default, validator=_not_negative, metadata={"help": text})


@frozen
class MultiplexerSettings:
    """Settings of ``[plugins.multiplexer]``."""

    mode: Literal["auto", "always", "never"] = field(
        default="auto",
        metadata={"help": "`auto` hides actions where that saves something; `never` declares all"},
    )
    threshold: int = _number(10, "with `auto`: up to so many actions are all declared")
    min_hidden_tokens: int = _number(
        4_000, "with `auto`: so many tokens of declarations, about, must be saved; 0 leaves it to `threshold`"
    )
    pinned: tuple[str, ...] = field(
        default=(),
        metadata={"help": "actions that stay declared, beside those marked `pinned`: names or globs"},
    )
    pin_top: int = _number(5, "how many stay declared, in the agent's own order, if none is pinned")
    backend: Literal["auto", "provider", "tools"] = field(
        default="auto",
        metadata={
            "help": "`provider`: the provider's own search finds them; `tools`: two tools of this plugin, for"
            " every model; `auto`: the provider's where the model has one"
        },
    )
    index_names_up_to: int = _number(
        150, "so many hidden names are listed in the prompt; of more, only the categories"
    )
    synonyms: Mapping[str, tuple[str, ...]] = field(
        factory=dict, metadata={"help": "more words for the search: a word to those it also finds"}
    )
