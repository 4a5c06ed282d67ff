"""What a reply used, however a server spells it, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from attrs import define, evolve, field

from wakeful.types import Json, Usage

#: More tokens than any window holds: such a number is an accident.
ABSURD = 1_000_000_000
#: How long prices are used before the library is asked again: they change on a date, not within the hour.
FRESH = timedelta(hours=1)
#: Tokens to which published prices refer.
MILLION = 1_000_000

_RATES = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok")


def read_usage(raw: Json, timings: Json = None) -> Usage:
    """Return what was used; ``reported=False`` when nothing usable was said.

    Args:
        raw: ``usage`` of a reply, in either protocol.
        timings: what a llama.cpp server adds to it; says how much of its cache was used.
    """
    if not isinstance(raw, Mapping):
        return Usage(reported=False)
    given = _first(raw, "prompt_tokens", "input_tokens")
    output = _first(raw, "completion_tokens", "output_tokens")
    total = _count(raw.get("total_tokens"))
    if given is None and output is not None and total is not None:
        given = max(total - output, 0)
    if output is None and given is not None and total is not None:
        output = max(total - given, 0)
    if given is None or output is None:
        return Usage(reported=False)
    read, write = _cached(raw, timings)
    read = min(read, given)
    write = min(write, given - read)
    thought = _detail(raw, "reasoning_tokens") or 0
    if thought and total is not None and total == given + output + thought:
        output += thought  # some servers count reasoning beside the output, not in it
    return Usage(read, write, given - read - write, output, reasoning=min(thought, output))


def _cached(raw: Mapping[str, Any], timings: Json) -> tuple[int, int]:
    read = _detail(raw, "cached_tokens")
    if read is None:
        read = _first(raw, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
    if read is None and isinstance(timings, Mapping):
        read = _count(timings.get("cache_n"))
    return read or 0, _detail(raw, "cache_write_tokens") or 0


def _first(raw: Mapping[str, Any], *names: str) -> int | None:
    return next((count for name in names if (count := _count(raw.get(name))) is not None), None)


def _detail(raw: Mapping[str, Any], name: str) -> int | None:
    for place in (
        "prompt_tokens_details",
        "input_tokens_details",
        "completion_tokens_details",
        "output_tokens_details",
    ):
        details = raw.get(place)
        if isinstance(details, Mapping) and (count := _count(details.get(name))) is not None:
            return count
    return None


def _count(value: Json) -> int | None:
    """Return a number of tokens, also from ``"12"`` and ``12.0``; None for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        count = int(value)
    except (ValueError, OverflowError):
        return None
    return count if 0 <= count <= ABSURD else None


@define(eq=False)
class Prices:
    """Prices of one model, from genai-prices as it is installed; nothing is fetched.

    Args:
        model: its name.
        price: ``provider:model`` if the settings say so, else empty.
        url: the server's address, by which the library knows who serves the model.
    """

    model: str
    price: str
    url: str
    _rates: tuple[float, ...] | None = field(default=None, init=False)
    _until: datetime | None = field(default=None, init=False)
    _unknown: bool = field(default=False, init=False)

    def load(self) -> None:
        """Read the price list; takes half a second the first time."""
        import genai_prices  # noqa: F401  (for its effect: later imports are free)

    def priced(self, usage: Usage, now: datetime) -> Usage:
        """Return ``usage`` with its cost in US dollars, None where no price is known."""
        if self._unknown or not usage.reported:
            return usage
        counts = (usage.uncached, usage.read, usage.write, usage.output)
        if self._rates is not None and self._until is not None and now < self._until:
            cost = sum(count * rate for count, rate in zip(counts, self._rates, strict=True)) / MILLION
            return evolve(usage, cost=cost)
        return evolve(usage, cost=self._looked_up(usage, now))

    def _looked_up(self, usage: Usage, now: datetime) -> float | None:
        """Ask the library; rates that do not depend on the prompt's length are kept for the next replies."""
        from genai_prices import Usage as Priced
        from genai_prices import calc_price

        used = Priced(
            input_tokens=usage.input,
            cache_read_tokens=usage.read,
            cache_write_tokens=usage.write,
            output_tokens=usage.output,
        )
        provider, _, name = self.price.rpartition(":")
        try:
            if provider:
                found = calc_price(used, name, provider_id=provider, genai_request_timestamp=now)
            else:
                named = name or self.model
                found = calc_price(used, named, provider_api_url=self.url, genai_request_timestamp=now)
        except (LookupError, ValueError):
            self._unknown = True
            return None
        rates = [getattr(found.model_price, rate, None) for rate in _RATES]
        if all(isinstance(rate, Decimal) for rate in rates):
            self._rates = tuple(float(rate) for rate in rates if rate is not None)
            self._until = now + FRESH
        return float(found.total_price)
