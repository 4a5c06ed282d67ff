"""Prices, lifetimes and limits of the prompt caches, the clock they run on, and what a request costs.

The figures are the providers' published ones of November 2026. The smallest prefixes by model and the
write charge of gpt-5.6 come from secondary sources; ``Meter`` can override both.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import TypeVar

from attrs import define, field

#: Blocks that an Anthropic breakpoint looks back over, itself the first.
LOOKBACK = 20
#: Anthropic breakpoints of one request, the automatic one included.
MAX_BREAKPOINTS = 4
#: Seconds that an entry lives after it was last used.
TTL = {"5m": 300.0, "1h": 3600.0, "30m": 1800.0, "12h": 43200.0}
#: (model, smallest cacheable prefix in tokens); the first match wins.
ANTHROPIC_MINIMUM = (
    (r"(opus-5|fable-5|mythos)", 512),
    (r"opus-4-7", 2048),
    (r"(opus-4-6|opus-4-5|haiku-4-5)", 4096),
    (r"haiku-3|3-5-haiku|3-haiku", 2048),
    (r".", 1024),
)
#: In uncached input tokens, as the following prices.
WRITE_5M, WRITE_1H, READ = 1.25, 2.0, 0.1
#: (model, price of a cached token); the first match wins.
OPENAI_READ = ((r"gpt-4o|^o1", 0.5), (r"gpt-4\.1|^o[34]", 0.25), (r".", 0.1))
#: Models whose cache has breakpoints instead of automatic steps.
OPENAI_BREAKPOINT_MODELS = re.compile(r"gpt-(5\.(?:[6-9]|\d\d)|[6-9])")
OPENAI_WRITE = 1.25
#: Smallest cached prefix, size of an automatic step, places where a breakpoint model looks for an entry.
OPENAI_MINIMUM, OPENAI_STEP, OPENAI_MATCHES = 1024, 128, 80
#: Seconds by ``prompt_cache_retention``, for models with automatic steps.
OPENAI_RETENTION = {"in_memory": 600.0, "24h": 86400.0}

Value = TypeVar("Value")


class Clock:
    """Starts at zero and moves only when told, or follows real time with an offset.

    Args:
        real: follow real time.
    """

    def __init__(self, *, real: bool = False) -> None:
        self.real = real
        self.offset = 0.0
        self._start = time.monotonic() if real else 0.0

    def now(self) -> float:
        """Return the seconds since the start."""
        return self.offset + (time.monotonic() - self._start if self.real else 0.0)

    def advance(self, seconds: float) -> None:
        """Move time forwards.

        Raises:
            ValueError: time does not run backwards.
        """
        if seconds < 0:
            raise ValueError(f"the clock only goes forward; got {seconds:g} seconds")
        self.offset += seconds


@define
class Bill:
    """What one request's prompt costs.

    Args:
        total: tokens of the whole prompt.
        read: tokens read from the cache.
        write_5m: tokens written for five minutes (Anthropic).
        write_1h: tokens written for an hour (Anthropic).
        write_other: tokens written on OpenAI: free before gpt-5.6, 1.25 times the price after.
        uncached: tokens that were neither read nor written.
        cost: in uncached input tokens.
        notes: ``expired``, ``outside_lookback``, ``below_minimum(n)``.
    """

    total: int = 0
    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    write_other: int = 0
    uncached: int = 0
    cost: float = 0.0
    notes: list[str] = field(factory=list)

    @property
    def write(self) -> int:
        """Tokens written to the cache, for whatever time."""
        return self.write_5m + self.write_1h + self.write_other


def by_model(table: Iterable[tuple[str, Value]], model: str) -> Value:
    """Return the first value of a table whose pattern is found in the model's name."""
    return next(value for pattern, value in table if re.search(pattern, model))
