"""Windows of time against a plain reading of the wall clock, over time zones and their changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakeful_policy.windows import DAYS, is_open, next_open, parse

ZONES = ("UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia")
TIMES = st.builds("{:02d}:{:02d}".format, st.integers(0, 23), st.sampled_from((0, 15, 30, 59)))
MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  (hypothesis wants it so)


@st.composite
def windows(draw: st.DrawFn) -> str:
    start, end = draw(TIMES), draw(TIMES)
    days = draw(st.sampled_from(("", "Mon-Fri ", "sat, sun ", "Fri-Mon ", "Wed ")))
    return f"{days}{start}-{'24:00' if start == end else end}"


def days_of(text: str) -> set[int]:
    named = {"": range(7), "Mon-Fri": range(5), "sat, sun": (5, 6), "Fri-Mon": (4, 5, 6, 0), "Wed": (2,)}
    return set(named[text.rpartition(" ")[0]])


def shown(text: str, wall: datetime) -> bool:
    """Whether a wall clock lies in a window: on one of its days, or in what is left of the day before's."""
    first, last = text.rpartition(" ")[2].split("-")
    begins, ends, now = (int(each[:2]) * 60 + int(each[3:]) for each in (first, last, f"{wall:%H:%M}"))
    today, before = wall.weekday() in days_of(text), (wall.weekday() - 1) % 7 in days_of(text)
    if ends > begins:
        return today and begins <= now < ends
    return (today and now >= begins) or (before and now < ends)


def near_a_change(moment: datetime, zone: str) -> bool:
    """Whether clocks are changed within a day: then times of day may be missing or come twice."""
    local = ZoneInfo(zone)
    steps = (timedelta(hours=hours) for hours in range(-26, 27))
    return len({(moment + step).astimezone(local).utcoffset() for step in steps}) > 1


@given(windows(), MOMENTS, st.sampled_from(ZONES))
def test_a_window_is_open_when_the_wall_clock_says_so(text: str, moment: datetime, zone: str) -> None:
    if not near_a_change(moment, zone):
        assert is_open([parse(text)], moment, zone) == shown(text, moment.astimezone(ZoneInfo(zone)))


@given(windows(), MOMENTS, st.sampled_from(ZONES))
def test_the_next_window_opens_then_and_not_before(text: str, moment: datetime, zone: str) -> None:
    window = parse(text)
    opens = next_open([window], moment, zone)
    assert opens > moment
    assert is_open([window], opens.astimezone(UTC), zone)
    if not is_open([window], moment, zone):
        looks = (moment + (opens - moment) * part / 7 for part in range(1, 7))
        assert not any(is_open([window], look, zone) for look in looks)


# Clocks in Zurich go from 02:00 to 03:00 at 01:00 UTC, and from 03:00 to 02:00 at 01:00 UTC.
@pytest.mark.parametrize(
    ("text", "moment", "opened"),
    [
        ("Sun 01:00-04:00", datetime(2026, 3, 29, 1, 30, tzinfo=UTC), True),
        ("Sun 02:15-02:45", datetime(2026, 3, 29, 1, 20, tzinfo=UTC), True),  # skipped: an hour later
        ("Sun 02:15-03:10", datetime(2026, 3, 29, 1, 20, tzinfo=UTC), True),
        ("Sun 02:15-03:10", datetime(2026, 3, 29, 2, 10, tzinfo=UTC), False),
        ("Sat 22:00-04:00", datetime(2026, 3, 29, 1, 59, tzinfo=UTC), True),  # an hour shorter
        ("Sat 22:00-04:00", datetime(2026, 3, 29, 2, 0, tzinfo=UTC), False),
        ("Sun 02:00-03:00", datetime(2026, 10, 25, 0, 30, tzinfo=UTC), True),  # the first 02:30
        ("Sun 02:00-03:00", datetime(2026, 10, 25, 1, 30, tzinfo=UTC), True),  # the second
        ("Sun 02:00-03:00", datetime(2026, 10, 25, 2, 0, tzinfo=UTC), False),
    ],
)
def test_nights_in_which_clocks_change(text: str, moment: datetime, opened: bool) -> None:
    assert is_open([parse(text)], moment, "Europe/Zurich") is opened


def test_every_day_has_its_name() -> None:
    monday = datetime(2026, 3, 2, 12, tzinfo=UTC)
    for place, name in enumerate(DAYS):
        for passed in range(7):
            now = monday + timedelta(days=passed)
            assert is_open([parse(f"{name} 00:00-24:00")], now, "UTC") is (place == passed)
