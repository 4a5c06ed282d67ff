"""What is known about models: the table in ``profiles.toml``, and what the settings say instead."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from attrs import asdict, frozen

from wakeful.types import Profile
from wakeful_anthropic.settings import ModelFacts

#: The scheme, the entry point and the name in every message.
PROVIDER = "anthropic"
#: Seconds a cached prefix lives, by the setting ``cache_ttl`` (the API's reference, ``cache_control.ttl``).
TTL_SECONDS = {"5m": 300, "1h": 3600}


@frozen
class Facts:
    """Facts about one model.

    Args:
        window: context window in tokens.
        output: output limit in tokens.
        minimum: smallest prefix in tokens that is cached.
        breakpoints: cache breakpoints in one request.
        thinking: ``none``, ``budget`` or ``adaptive``.
        price: the name that genai-prices knows the model by; empty for its own.
        images, parallel_calls, tool_search: whether it has them.
    """

    window: int
    output: int
    minimum: int
    breakpoints: int
    thinking: str
    price: str
    images: bool
    parallel_calls: bool
    tool_search: bool

    def profile(self, output: int, cache_ttl: str) -> Profile:
        """Return what the kernel and its layouts need to know.

        Args:
            output: the limit in force, in tokens.
            cache_ttl: ``5m`` or ``1h``.
        """
        return Profile(
            provider=PROVIDER,
            family="breakpoint",
            window=self.window,
            minimum=self.minimum,
            output=output,
            native_tools=True,
            cache_ttl=TTL_SECONDS[cache_ttl],
            tool_search=self.tool_search,
            breakpoints=self.breakpoints,
        )


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("profiles.toml").read_text("utf-8"))


def known_models() -> tuple[str, ...]:
    """Return the beginnings of names that stand in the table."""
    return tuple(_table()["models"])


def facts_of(model: str, own: Mapping[str, ModelFacts] = {}) -> tuple[Facts, bool]:
    """Return the facts about a model, and whether it is known at all.

    Args:
        model: its name.
        own: the setting ``models``: beginnings of names to facts that count before the table's.
    """
    table = _table()
    found, mine = _longest(model, table["models"]), _longest(model, own)
    values = {**table["defaults"], **(table["unknown"] if found is None else table["models"][found])}
    if mine is not None:
        values |= {key: value for key, value in asdict(own[mine]).items() if value is not None}
    return Facts(**values), found is not None or mine is not None


def _longest(model: str, names: Mapping[str, object]) -> str | None:
    return max((name for name in names if model.startswith(name)), key=len, default=None)
