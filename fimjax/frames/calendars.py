"""The dates of a calendar, such as month ends or business days, and the clocks of time zones."""

import datetime

import numpy as np
import pandas as pd
from pandas import offsets

from fimjax.errors import InputError

Zone = str | datetime.tzinfo | None
"""The time zone whose clocks a series follows; None if its dates have none."""

FIRST, LAST = np.datetime64("1677-09-22"), np.datetime64("2262-04-10")
"""The days that nanoseconds in 64 bits can count."""


def to_wall(stamps: np.ndarray, zone: Zone) -> np.ndarray:
    """The local times that the clocks of a zone show at UTC instants."""
    if zone is None:
        return stamps
    return pd.DatetimeIndex(stamps, tz="UTC").tz_convert(zone).tz_localize(None).to_numpy()


def to_utc(wall: np.ndarray, zone: Zone) -> np.ndarray:
    """The UTC instants at which the clocks of a zone show local times.

    A local time that occurs twice (clocks set back) means the first; one that is skipped means the next that exists.
    """
    if zone is None:
        return wall
    index = pd.DatetimeIndex(wall.ravel())
    index = index.tz_localize(zone, ambiguous=np.ones(wall.size, bool), nonexistent="shift_forward")
    return index.tz_convert("UTC").tz_localize(None).to_numpy().reshape(wall.shape)


def same_day(months: int, day: int) -> offsets.DateOffset:
    """A step of some months to the same day of the month, or to the last day of months that are too short."""
    return offsets.DateOffset(months=months, day=day)


def count_of(offset: offsets.BaseOffset) -> int:
    """How many dates of its calendar an offset moves: 2 for 2MS."""
    return offset.kwds["months"] if type(offset) is offsets.DateOffset else offset.n


def weekday_of(days: np.ndarray) -> np.ndarray:
    """0 for Monday to 6 for Sunday."""
    return (days.astype("datetime64[D]").astype(np.int64) + 3) % 7


def dates_of(offset: offsets.BaseOffset, first: np.datetime64, last: np.datetime64, after: int = 1) -> np.ndarray:
    """All dates of an offset's calendar, ignoring its count.

    Args:
        offset: anything but a fixed length of time.
        first: a day; the dates begin before it.
        last: a day; at least `after` dates come after it.

    Returns:
        datetime64[D], or datetime64[ns] for business hours.
    """
    months = _months_of(offset)
    if months is not None:
        return _month_days(*months, first, last, after)
    if isinstance(offset, offsets.Day):
        return np.arange(first - 1, last + after + 1)
    if isinstance(offset, offsets.Week):
        days = np.arange(first - 7, last + 7 * (after + 1))
        return days[weekday_of(days) == offset.weekday]
    if type(offset) is offsets.BusinessDay:
        days = np.arange(first - 3, last + 7 * (after // 5 + 2))
        return days[weekday_of(days) < 5]
    try:
        start, end = pd.Timestamp(first) - 2 * offset.base, pd.Timestamp(last + 1) + (after + 1) * offset.base
        dates = pd.date_range(start, end, freq=offset.base).to_numpy()
    except (OverflowError, ValueError) as error:
        raise InputError(f"the calendar of {offset.freqstr} has no dates from {first} to {last} and beyond") from error
    return dates.astype("datetime64[ns]" if is_hourly(offset) else "datetime64[D]")


def is_hourly(offset: offsets.BaseOffset) -> bool:
    """Whether a calendar is one of business hours rather than of days."""
    return isinstance(offset, offsets.BusinessHour)


def _months_of(offset: offsets.BaseOffset) -> tuple[int, int, int] | None:
    """The months between two dates of a calendar, its first month (January is 0), and its day of the month."""
    kind = type(offset)
    if kind is offsets.DateOffset:
        return 1, 0, offset.kwds["day"]
    day = 1 if kind in (offsets.MonthBegin, offsets.QuarterBegin, offsets.YearBegin) else 31
    if kind in (offsets.MonthBegin, offsets.MonthEnd):
        return 1, 0, day
    if kind in (offsets.QuarterBegin, offsets.QuarterEnd):
        return 3, (offset.startingMonth - 1) % 3, day
    if kind in (offsets.YearBegin, offsets.YearEnd):
        return 12, offset.month - 1, day
    return None


def _month_days(every: int, anchor: int, day: int, first: np.datetime64, last: np.datetime64, after: int) -> np.ndarray:
    """One day in each of some months, from one before `first` to `after` dates after `last`."""
    low, high = (x.astype("datetime64[M]").astype(np.int64) for x in (first, last))
    low -= every + (low - anchor) % every
    months = np.arange(low, high + every * (after + 1) + 1, every).astype("datetime64[M]")
    starts, ends = months.astype("datetime64[D]"), (months + 1).astype("datetime64[D]") - 1
    return np.minimum(starts + (day - 1), ends)
