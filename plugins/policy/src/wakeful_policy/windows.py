"""Windows of time, as ``Mon-Fri 09:00-17:00``: whether one is open, and when the next one opens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import MAXYEAR, MINYEAR, UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from attrs import frozen

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
#: Days that are looked ahead: a window that opens on one day of the week opens within this.
AHEAD = 8
_FORM = re.compile(r"(?:([a-z,\- ]+?)\s+)?(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2})", re.IGNORECASE)


@frozen
class Window:
    """Days of the week, 0 = Monday, and the time from which to which it is open on them.

    A window that ends before it begins ends on the next day; ``00:00-24:00`` is the whole day.
    """

    days: frozenset[int]
    start: timedelta
    end: timedelta

    def spans(self, day: datetime) -> tuple[datetime, datetime]:
        """Return when it opens and closes on a day, given as its midnight."""
        length = self.end if self.end > self.start else self.end + timedelta(days=1)
        return _at(day, self.start), _at(day, length)


def parse(text: str) -> Window:
    """Return the window that a text describes.

    Raises:
        ValueError: it describes none; says what was expected.
    """
    found = _FORM.fullmatch(text.strip())
    expected = "expected e.g. 'Mon-Fri 09:00-17:00' or '22:00-06:00'"
    if not found:
        raise ValueError(f"{text!r} is no window; {expected}")
    days = frozenset(range(7)) if not found[1] else frozenset(_days(found[1], text))
    start, end = _clock(found[2], text), _clock(found[3], text)
    if start == end or start >= timedelta(days=1):
        raise ValueError(f"{text!r} is never open; {expected}")
    return Window(days, start, end)


def check_reach(now: datetime | None) -> None:
    """Refuse a time around which no windows can be looked for.

    Raises:
        ValueError: it is one.
    """
    if now is not None and not MINYEAR < now.year < MAXYEAR:
        raise ValueError(f"{now.date()} is out of reach; expected a year from {MINYEAR + 1} to {MAXYEAR - 1}")


def is_open(windows: Iterable[Window], now: datetime, zone: str) -> bool:
    """Whether any window is open at a time.

    Where clocks are changed, a time of day that is skipped counts as the hour after it, and of one that comes
    twice the first counts.
    """
    local = now.astimezone(ZoneInfo(zone))
    midnight = datetime.combine(local.date(), time())
    for window in windows:
        for day in (midnight - timedelta(days=1), midnight):
            if day.weekday() in window.days:
                begins, ends = window.spans(day)
                start, end = _aware(begins, zone), _aware(ends, zone)
                if end <= start:  # it begins at a time that is skipped that night, so an hour later
                    end = start + (ends - begins)
                if start <= now < end:
                    return True
    return False


def next_open(windows: Iterable[Window], now: datetime, zone: str) -> datetime:
    """Return when the next window opens, in its time zone."""
    today = datetime.combine(now.astimezone(ZoneInfo(zone)).date(), time())
    opens = (
        _aware(window.spans(today + timedelta(days=ahead))[0], zone)
        for window in windows
        for ahead in range(AHEAD)
        if (today + timedelta(days=ahead)).weekday() in window.days
    )
    return min(each for each in opens if each > now).astimezone(ZoneInfo(zone))


def _aware(local: datetime, zone: str) -> datetime:
    return local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def _at(day: datetime, offset: timedelta) -> datetime:
    return day + offset


def _days(text: str, whole: str) -> Iterable[int]:
    for part in text.lower().split(","):
        first, _, last = (each.strip()[:3] for each in part.partition("-"))
        if first not in DAYS or (last and last not in DAYS):
            raise ValueError(f"{whole!r} names a day that is none of {', '.join(DAYS)}")
        start, end = DAYS.index(first), DAYS.index(last or first)
        yield from (day % 7 for day in range(start, (end if end >= start else end + 7) + 1))


def _clock(text: str, whole: str) -> timedelta:
    hours, minutes = map(int, text.split(":"))
    if hours > 24 or minutes > 59 or (hours == 24 and minutes):  # noqa: PLR2004  (hours of a day)
        raise ValueError(f"{whole!r} holds {text}, which is no time of day")
    return timedelta(hours=hours, minutes=minutes)
