"""What a reply used, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from attrs import define, field

from wakeful.types import Usage
from wakeful_anthropic.profiles import PROVIDER

#: How long prices are used before the library is asked again: they change on a date, not within the hour.
FRESH = timedelta(hours=1)
#: Tokens to which published prices refer.
MILLION = 1_000_000

_RATES = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok", "output_mtok")


@define(eq=False)
class Prices:
    """Prices of one model, from genai-prices as it is installed; nothing is fetched.

    Args:
        name: what the library knows the model by.
    """

    name: str
    _rates: tuple[float, ...] | None = field(default=None, init=False)
    _until: datetime | None = field(default=None, init=False)
    _unknown: bool = field(default=False, init=False)

    def usage(self, raw: Mapping[str, Any], now: datetime) -> Usage:
        """Return the usage that the API reported, priced where the price is known.

        Args:
            raw: ``usage`` of a message, or what the events of a stream said so far; empty if nothing was.
            now: what prices are looked up for.
        """
        uncached, output = _count(raw, "input_tokens"), _count(raw, "output_tokens")
        read, write = _count(raw, "cache_read_input_tokens"), _count(raw, "cache_creation_input_tokens")
        parts = raw.get("cache_creation")
        hour = _count(parts, "ephemeral_1h_input_tokens") if isinstance(parts, dict) else 0
        hour = min(hour, write)
        if not raw:
            return Usage(reported=False)
        cost = self._cost(uncached, read, write - hour, hour, output, now)
        return Usage(read, write, uncached, output, cost, write_1h=hour)

    def _cost(self, *counts_and_now: Any) -> float | None:
        *counts, now = counts_and_now
        if self._unknown:
            return None
        if self._rates is not None and self._until is not None and now < self._until:
            total: float = sum(count * rate for count, rate in zip(counts, self._rates, strict=True))
            return total / MILLION
        return self._looked_up(counts, now)

    def _looked_up(self, counts: list[int], now: datetime) -> float | None:
        """Ask the library; rates that do not depend on the prompt's length are kept for the next replies."""
        from genai_prices import Usage as Priced
        from genai_prices import calc_price

        uncached, read, write, hour, output = counts
        used = Priced(
            input_tokens=uncached + read + write + hour,
            cache_read_tokens=read,
            cache_write_tokens=write + hour,
            cache_write_1h_tokens=hour,
            output_tokens=output,
        )
        try:
            found = calc_price(used, self.name, provider_id=PROVIDER, genai_request_timestamp=now)
        except (LookupError, ValueError):
            self._unknown = True
            return None
        rates = [getattr(found.model_price, rate, None) for rate in _RATES]
        if all(isinstance(rate, Decimal) for rate in rates):
            self._rates = tuple(float(rate) for rate in rates if rate is not None)
            self._until = now + FRESH
        return float(found.total_price)


def _count(raw: Mapping[str, Any], key: str) -> int:
    value = raw.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
