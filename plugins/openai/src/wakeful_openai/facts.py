"""What is known of each model: ``profiles.toml``, and what the settings say differs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from attrs import asdict, evolve, frozen

from wakeful.types import Profile, nearest
from wakeful_openai.settings import ModelFacts

#: The scheme of ``model = "openai:…"``, and the owner of its opaque items.
PROVIDER = "openai"
_UNKNOWN = "unknown"


@frozen
class Facts:
    """Facts about one model; see ``profiles.toml``.

    Args:
        family, window, output, minimum, cache_ttl, native_tools: as in :class:`wakeful.types.Profile`.
        reasoning: whether it gives and takes reasoning items on the Responses API.
        tool_search: whether it searches deferred tools on the Responses API.
        replay_reasoning: whether the text of its reasoning is sent back on Chat Completions.
        cache_key: whether ``prompt_cache_key`` is sent; None leaves it to the kind of server.
        images: whether it reads images.
        parallel_calls: whether it makes several calls in one reply, and can be told not to.
        price: ``provider:model`` for the price list; empty looks the name up.
        known: whether the table names the model.
    """

    family: str = "byte-prefix"
    window: int = 32_000
    output: int = 4_096
    minimum: int = 0
    cache_ttl: int = 0
    native_tools: bool = True
    reasoning: bool = False
    tool_search: bool = False
    replay_reasoning: bool = False
    cache_key: bool | None = None
    images: bool = False
    parallel_calls: bool = True
    price: str = ""
    known: bool = True

    @property
    def profile(self) -> Profile:
        """What the kernel is told."""
        return Profile(
            provider=PROVIDER,
            family=self.family,
            window=self.window,
            minimum=self.minimum,
            output=self.output,
            native_tools=self.native_tools,
            cache_ttl=self.cache_ttl,
            tool_search=self.tool_search,
            breakpoints=0,  # as many as there are messages
        )


@cache
def _table() -> Mapping[str, Facts]:
    text = files(__package__).joinpath("profiles.toml").read_text(encoding="utf-8")
    return {name: Facts(**values) for name, values in tomllib.loads(text).items()}


def facts_of(model: str, overrides: Mapping[str, ModelFacts]) -> Facts:
    """Return the facts about ``model``; of an unknown one, cautious guesses.

    Args:
        model: its name, e.g. ``gpt-5.2-2025-12-11``; a maker before a slash (``openai/gpt-5.2``) and
            a tuned model's prefix (``ft:gpt-4.1:…``) are left out when it is looked up.
        overrides: beginnings of names to what differs; the longest that fits counts.
    """
    bare = model.lower().removeprefix("ft:").rpartition("/")[2]
    table = _table()
    name = _longest(bare, table)
    facts = table[name] if name else evolve(table[_UNKNOWN], known=False)
    own = _longest(model, overrides)
    if own:
        given = {key: value for key, value in asdict(overrides[own]).items() if value is not None}
        facts = evolve(facts, **given, known=facts.known or "window" in given)
    return facts


def near(model: str) -> str:
    """Return ``; did you mean …?`` where a known model has nearly this name, else nothing."""
    hint = nearest(model, [name for name in _table() if name != _UNKNOWN])
    return hint if hint.startswith("; did you mean") else ""


def _longest(model: str, names: Mapping[str, object]) -> str:
    return max((name for name in names if model.startswith(name)), key=len, default="")
