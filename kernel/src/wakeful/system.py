"""The real clock and the real source of identity; tests inject their own."""

from __future__ import annotations

import asyncio
import secrets
import time
from datetime import UTC, datetime

from attrs import define, field


@define
class SystemClock:
    """Time as the machine tells it."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep that many seconds."""
        await asyncio.sleep(seconds)


@define
class SystemIds:
    """Ids that sort by the time they were made and cannot be guessed."""

    _last: int = field(default=0, init=False)

    def new(self, prefix: str) -> str:
        """Return ``<prefix>-<13 hex digits of microseconds><8 random hex digits>``."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return f"{prefix}-{self._last:013x}{secrets.token_hex(4)}"

    def secret(self) -> str:
        """Return 128 random bits in hexadecimal."""
        return secrets.token_hex(16)
