"""The step of a series: as given, by name or number, or as its stamps show it."""

import datetime
import math
import numbers
import re
import warnings

import numpy as np
import pandas as pd
from pandas import offsets
from pandas.tseries.frequencies import to_offset

from fimjax.errors import InputError
from fimjax.frames.calendars import dates_of, same_day, to_wall, weekday_of
from fimjax.frames.panel import Zone

Step = int | float | offsets.BaseOffset
"""A number for stamps that are numbers, an offset of pandas for dates."""

SECOND = 10**9
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
REGULAR = 0.8
"""The share of steps that must be alike for a series to count as regular."""
COMMON = 0.1
"""The share of the most common step in a series with many gaps, below which it is an accident."""
SAMPLE_SERIES, SAMPLE_STAMPS = 2000, 1_000_000
"""How many series, and stamps of them all, are looked at."""
OLD_ALIASES = {
    "M": "ME", "Q": "QE", "A": "YE", "Y": "YE", "AS": "YS", "BM": "BME", "BQ": "BQE", "BA": "BYE", "BY": "BYE",
    "BAS": "BYS", "SM": "SME", "CBM": "CBME", "H": "h", "BH": "bh", "CBH": "cbh", "T": "min", "S": "s", "L": "ms",
    "U": "us", "N": "ns",
}  # fmt: skip
"""Names that pandas had before 2.2, and what they are now."""
LONGEST = 2**63 - 1
"""Nanoseconds that 64 bits can count: 292 years."""
USUAL = np.array([
    *(n * SECOND for n in (1, 2, 5, 10, 15, 20, 30)), *(n * MINUTE for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * HOUR for n in (1, 2, 3, 4, 6, 8, 12)), DAY, 7 * DAY,
])  # fmt: skip
"""Lengths that a clock which is not quite exact is taken to mean."""


def given_step(freq: object, dtype: np.dtype) -> Step:
    """The step that a caller asks for, for stamps of a dtype."""
    if dtype.kind != "M":
        if isinstance(freq, bool) or not isinstance(freq, numbers.Real):
            raise InputError(f"freq={freq!r}: the stamps are numbers, so freq must be a number")
        if not (math.isfinite(freq) and freq > 0):
            raise InputError(f"freq={freq}: a step must be more than 0")
        if dtype.kind == "i" and freq != int(freq):
            raise InputError(f"freq={freq}: the stamps are whole numbers, so freq must be one")
        return int(freq) if dtype.kind == "i" else float(freq)
    if not isinstance(freq, str | offsets.BaseOffset | datetime.timedelta):
        raise InputError(
            f"freq={freq!r}: the stamps are dates, so freq must be an alias of pandas, such as 'D' or 'MS'"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of aliases that are about to change, such as 'd'
            step = to_offset(_renew(freq) if isinstance(freq, str) else freq)
    except ValueError as error:
        raise InputError(f"freq={freq!r} is no frequency that pandas knows") from error
    if type(step) is offsets.DateOffset or step.n < 1:
        raise InputError(f"freq={freq!r} is not a step forward with a name in pandas, such as 'D' or 'MS'")
    days = {offsets.Day: 1, offsets.Week: 7}.get(type(step), 0) * step.n
    if days * DAY > LONGEST:
        raise InputError(f"freq={freq!r} is a step of more than 292 years")
    return offsets.Day(days) if isinstance(step, offsets.Week) and step.weekday is None else step


def _renew(alias: str) -> str:
    """An alias of pandas with today's names: 15T is 15min, Q-DEC is QE-DEC."""
    return re.sub(r"([A-Za-z]+)((?:-\w+)*)", lambda part: OLD_ALIASES.get(part[1], part[1]) + part[2], alias)


def common_time_of_day(stamps: list[np.ndarray], zone: Zone) -> int:
    """How many nanoseconds after midnight most dates of N series are."""
    wall = to_wall(_sample(stamps)[0], zone)
    return _mode((wall - wall.astype("datetime64[D]")).astype(np.int64))


def common_step(stamps: list[np.ndarray], zone: Zone) -> Step:
    """The step that most stamps of N series show, whatever gaps they have; the median one of irregular series."""
    dtype = stamps[0].dtype
    several = [x for x in stamps if len(x) > 1]
    if not several:
        if dtype.kind == "M":
            raise InputError("no series has two dates, which would show the frequency: give freq, such as 'D' or 'MS'")
        return dtype.type(1).item()
    sample, starts = _sample(several)
    within = ~starts[1:]
    if dtype.kind != "M":
        step = _common_length(_lengths(sample)[within])
        return max(1, round(step)) if dtype.kind == "i" else step
    wall = to_wall(sample, zone)
    whole_days = np.diff(wall.astype(np.int64) % DAY)[within] == 0
    if whole_days.mean() >= REGULAR:
        return _common_days(wall.astype("datetime64[D]"), within)
    length = _common_length(_lengths(sample)[within])
    usual = USUAL[np.abs(length / USUAL - 1).argmin()]
    length = usual if abs(length / usual - 1) < 0.01 else max(1, round(length))
    _check_length(length)
    return to_offset(pd.Timedelta(int(length), "ns"))


def _lengths(stamps: np.ndarray) -> np.ndarray:
    """From each stamp to the next, float64."""
    if stamps.dtype.kind == "f":
        return np.diff(stamps)
    # In two parts, for 64 bits cannot count every difference of what they can count.
    high, low = np.divmod(stamps.astype(np.int64), 2**32)
    return np.diff(high) * 2.0**32 + np.diff(low)


def _check_length(nanoseconds: int) -> None:
    if nanoseconds > LONGEST:
        raise InputError("most dates are more than 292 years apart, which is too long for a step: give freq")


def _sample(stamps: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The last stamps of some series, one series after the other, and which of them are the first of a series."""
    some = stamps[:: -(-len(stamps) // SAMPLE_SERIES)]
    some = [x[-(SAMPLE_STAMPS // len(some)) :] for x in some]
    starts = np.zeros(sum(map(len, some)), bool)
    starts[np.cumsum([0, *map(len, some)])[:-1]] = True
    return np.concatenate(some), starts


def _common_length(lengths: np.ndarray) -> float:
    """The most common of some lengths if most are its multiples, else their median."""
    median = np.median(lengths)
    # Times of floats are a little uneven.
    _, group, counts = np.unique(np.round(lengths / median * 1e6), return_inverse=True, return_counts=True)
    common = np.median(lengths[group == counts.argmax()])
    ratio = lengths / common
    is_multiple = (np.abs(ratio - np.round(ratio)) < 1e-3) & (ratio > 0.5)
    is_regular = is_multiple.mean() >= REGULAR and counts.max() >= COMMON * len(lengths)
    return float(common if is_regular else median)


def _common_days(days: np.ndarray, within: np.ndarray) -> offsets.BaseOffset:
    """The calendar of days (datetime64[D]), of which those within a series follow each other."""
    gaps = np.diff(days)[within].astype(np.int64)
    common = _mode(gaps)
    if common >= 28:
        step = _common_months(days, within)
        if step is not None:
            return step
    weekdays = weekday_of(days)
    new_week = (np.diff(weekdays)[within] <= 0).any()
    if common == 1 and weekdays.max() < 5 and new_week:
        return offsets.BusinessDay()
    length = max(1, round(_common_length(gaps.astype(np.float64))))
    if length % 7 == 0 and (weekdays == weekdays[0]).all():
        return offsets.Week(length // 7, weekday=int(weekdays[0]))
    _check_length(length * DAY)
    return offsets.Day(length)


def _common_months(days: np.ndarray, within: np.ndarray) -> offsets.BaseOffset | None:
    """The calendar of a day a month, or every few months, that most days are of; None if there is no such calendar."""
    day = _mode((days - days.astype("datetime64[M]")).astype(np.int64)) + 1
    best, best_share = None, 0.0
    for calendar in (
        offsets.MonthBegin(), offsets.MonthEnd(), same_day(1, day), offsets.BMonthBegin(), offsets.BMonthEnd()
    ):  # fmt: skip
        dates = dates_of(calendar, days.min(), days.max())
        at = np.searchsorted(dates, days, side="right") - 1
        share = (dates[at] == days).mean()
        if share > best_share:
            best, best_share, best_at = calendar, share, at
    if best_share < REGULAR:
        return None
    count = max(1, round(_common_length(np.diff(best_at)[within].astype(np.float64))))
    months = days.astype("datetime64[M]").astype(np.int64) % 12
    is_start = isinstance(best, offsets.MonthBegin)
    if is_start or isinstance(best, offsets.MonthEnd):
        if count % 12 == 0 and (months == months[0]).all():
            year = offsets.YearBegin if is_start else offsets.YearEnd
            return year(count // 12, month=int(months[0]) + 1)
        if count % 3 == 0 and (months % 3 == months[0] % 3).all():
            quarter = offsets.QuarterBegin if is_start else offsets.QuarterEnd
            first_or_last = months[0] % 3 + (1 if is_start else 10)
            return quarter(count // 3, startingMonth=int(first_or_last))
    return same_day(count, day) if type(best) is offsets.DateOffset else count * best


def _mode(x: np.ndarray) -> int:
    """The most common of whole numbers, the smallest of several."""
    values, counts = np.unique(x, return_counts=True)
    return int(values[counts.argmax()])
