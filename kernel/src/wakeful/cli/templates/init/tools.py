"""Actions of the agents in wakeful.toml."""

from __future__ import annotations

from datetime import UTC, date, datetime

from wakeful import action


@action(effect="read", output_trust="trusted")
def days_until(day: date) -> int:
    """Count the days from today to a day.

    Args:
        day: the day, for example 2030-01-01.
    """
    return (day - datetime.now(UTC).date()).days
