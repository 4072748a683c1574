"""The frequency of a series: what one step is, which timestamps come next, and how it is inferred from timestamps."""

import datetime
import math
import re
import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from pandas import offsets
from pandas.tseries.frequencies import to_offset

from fimjax.errors import InputError
from fimjax.frames.calendars import (
    FIRST,
    LAST,
    Zone,
    count_of,
    dates_of,
    is_hourly,
    same_day,
    to_utc,
    to_wall,
    weekday_of,
)
from fimjax.frames.columns import is_number

Freq: TypeAlias = str | int | float | datetime.timedelta | offsets.BaseOffset
"""A frequency as callers give it: a pandas alias, such as "D" or "MS", or a number for times that are numbers."""

Step: TypeAlias = int | float | offsets.BaseOffset
"""A number if timestamps are numbers, an offset of pandas if they are dates."""

SECOND = 10**9
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
REGULAR = 0.8
"""Share of equal steps from which on a series counts as regular."""
COMMON = 0.1
"""Smallest share of the most common step in a series with many gaps; below it, the step is a coincidence."""
SAMPLE_SERIES, SAMPLE_STAMPS = 2000, 1_000_000
"""Most series, and most timestamps in all, from which a frequency is inferred."""
OLD_ALIASES = {
    "M": "ME", "Q": "QE", "A": "YE", "Y": "YE", "AS": "YS", "BM": "BME", "BQ": "BQE", "BA": "BYE", "BY": "BYE",
    "BAS": "BYS", "SM": "SME", "CBM": "CBME", "H": "h", "BH": "bh", "CBH": "cbh", "T": "min", "S": "s", "L": "ms",
    "U": "us", "N": "ns",
}  # fmt: skip
"""Aliases of pandas before 2.2, and their names today."""
LONGEST = 2**63 - 1
"""Nanoseconds that 64 bits can count: 292 years."""
USUAL = np.array([
    *(n * SECOND for n in (1, 2, 5, 10, 15, 20, 30)), *(n * MINUTE for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * HOUR for n in (1, 2, 3, 4, 6, 8, 12)), DAY, 7 * DAY,
])  # fmt: skip
"""Usual lengths in nanoseconds, to which the steps of an inexact clock are rounded."""
SEASONS = {"B": 5, "C": 5, "W": 52, "bh": 8, "cbh": 8} | {
    name: length
    for length, names in {24: "SMS SME", 12: "MS ME BMS BME CBMS CBME WOM LWOM", 4: "QS QE BQS BQE REQ"}.items()
    for name in names.split()
}
"""Steps in a season, by the calendar's name in pandas."""


@dataclass(frozen=True)
class Frequency:
    """The step from one point of a series to the next.

    Days, weeks, months and other multiples of a day follow the clocks of the time zone, so a day may have 23 or 25
    hours. Hours and shorter steps have a fixed length.
    """

    step: Step
    """A number if timestamps are numbers, an offset of pandas if they are dates."""
    zone: Zone = None
    time_of_day: int = 0
    """Nanoseconds after midnight at which the dates of a calendar are whole steps."""

    def __str__(self) -> str:
        return str(getattr(self.step, "freqstr", self.step))

    @property
    def season_length(self) -> int:
        """Steps in a season by default, 1 where none is known.

        | step | season |
        |---|---|
        | second | hour: 3600 |
        | minute, hour | day: 1440, 24 |
        | day, business day | week: 7, 5 |
        | week, half month, month, quarter | year: 52, 24, 12, 4 |
        | year, number, less than a second | none: 1 |

        A multiple such as 15min or 2h has as many steps as fill the season (96, 12), and no season if none do (7h).
        """
        length, count = _season(self.step)
        return length // count if length % count == 0 else 1

    def positions(self, stamps: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Times in steps after an origin.

        A calendar's dates are whole steps, and time runs evenly between them. Pass the timestamps of many series at
        once, each with its own origin, because every call computes the calendar again.

        Args:
            stamps: timestamps as int64, float64 or datetime64[ns] (UTC), of any shape.
            origin: the timestamp of step 0; one, or an array that broadcasts against `stamps`.

        Returns:
            float64
        """
        stamps, origin = np.asarray(stamps), np.asarray(origin)
        length = self._length
        if length is None:
            (whole, share), (zero, part) = self._locate(stamps, origin)
            return ((whole - zero) + (share - part)) / count_of(self.step)
        if "f" in (stamps.dtype.kind, origin.dtype.kind):
            return (stamps - origin) / length
        # Whole steps and remainders separately, because int64 nanoseconds overflow after 292 years.
        (whole, rest), (zero, part) = (np.divmod(x.astype(np.int64), length) for x in (stamps, origin))
        carry, rest = np.divmod(rest - part, length)
        return (whole - zero + carry) + rest / length

    def stamps_after(self, last: np.ndarray, h: int) -> np.ndarray:
        """The next h timestamps after one, or after each of several.

        A timestamp between two dates of the calendar continues with the next date, at its own time of day, as `+` does
        in pandas: Wednesday + W-SUN is Sunday.

        Args:
            last: one timestamp or [B], as int64, float64 or datetime64[ns] (UTC).

        Returns:
            [h] or [B, h], of the type of `last`.
        """
        last = np.asarray(last)
        length = None if isinstance(self.step, offsets.Week) else self._length
        if length is None:
            return self._dates_after(last.reshape(-1), h).reshape(*last.shape, h)
        if last.dtype.kind != "f" and int(last.max().astype(np.int64)) + length * h >= 2**63:
            raise InputError(f"{h} steps of {self} end after the largest possible timestamp")
        steps = length * np.arange(1, h + 1)
        return last[..., None] + (steps.astype("timedelta64[ns]") if last.dtype.kind == "M" else steps)

    @property
    def _length(self) -> int | float | None:
        """The length of a step in the unit of the timestamps; None if it follows a calendar."""
        step = self.step
        if not isinstance(step, offsets.BaseOffset):
            return step
        if isinstance(step, offsets.Day | offsets.Week):
            days = step.n if isinstance(step, offsets.Day) else 7 * step.n
            return days * DAY if self.zone is None else None
        return step.nanos if isinstance(step, offsets.Tick) else None

    def _locate(self, *stamps: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The index of the calendar's date before each timestamp, and the share of the time to the next date."""
        ends = np.array([min(x.min() for x in stamps), max(x.max() for x in stamps)])
        first, last = to_wall(ends, self.zone).astype("datetime64[D]")
        dates = self._dates(first, last, after=2)
        marks = to_utc(dates + np.timedelta64(self.time_of_day, "ns"), self.zone)
        found = []
        for x in stamps:
            whole = np.clip(np.searchsorted(marks, x, side="right") - 1, 0, len(marks) - 2)
            found.append((whole, (x - marks[whole]) / (marks[whole + 1] - marks[whole])))
        return found

    def _dates_after(self, last: np.ndarray, h: int) -> np.ndarray:
        """The next h timestamps [B, h] of a calendar after timestamps [B]."""
        wall, count = to_wall(last, self.zone), count_of(self.step)
        days = wall.astype("datetime64[D]")
        dates = self._dates(days.min(), days.max(), after=count * h)
        # Business hours have no time of day to keep.
        start, rest = (wall, wall - wall) if is_hourly(self.step) else (days, wall - days)
        at = np.searchsorted(dates, start, side="right") - 1
        if at.max() + count * h >= len(dates):
            raise InputError(f"{h} steps of {self} end after {LAST}, the last possible day")
        return to_utc(dates[at[:, None] + count * np.arange(1, h + 1)] + rest[:, None], self.zone)

    def _dates(self, first: np.datetime64, last: np.datetime64, after: int) -> np.ndarray:
        """The calendar from before the first day to `after` dates after the last, or to the last possible day."""
        dates = dates_of(self.step, first, last, after + 1)
        dates = dates[(dates >= FIRST) & (dates <= LAST)].astype("datetime64[ns]")
        if self.zone is None or is_hourly(self.step):
            return dates
        # Zones that crossed the date line have skipped a day.
        noon = to_wall(to_utc(dates + np.timedelta64(12, "h"), self.zone), self.zone)
        return dates[noon.astype("datetime64[D]") == dates]


def infer_frequency(stamps: list[np.ndarray], freq: Freq | None = None, zone: Zone = None) -> Frequency:
    """The frequency that a caller gives, or that the timestamps of some series show.

    Args:
        stamps: one array for each series, as in a Panel, strictly increasing.
        freq: a pandas alias for dates, or a number for numbers; None to infer it. Timestamps need not be on its
            dates.
        zone: the time zone of the dates.
    """
    step = _infer_step(stamps, zone) if freq is None else _parse_step(freq, stamps[0].dtype)
    if not isinstance(step, offsets.BaseOffset):
        return Frequency(step)
    by_day = isinstance(step, offsets.Day) or not (isinstance(step, offsets.Tick) or is_hourly(step))
    return Frequency(step, zone, _common_time_of_day(stamps, zone) if by_day else 0)


def _season(step: Step) -> tuple[int, int]:
    """A season in the unit of a step, and how many of these units the step has."""
    if not isinstance(step, offsets.BaseOffset):
        return 1, 1
    if type(step) is offsets.DateOffset:
        return 12, count_of(step)
    if isinstance(step, offsets.Day) or (isinstance(step, offsets.Tick) and step.nanos % DAY == 0):
        days = step.n if isinstance(step, offsets.Day) else step.nanos // DAY
        return (52, days // 7) if days % 7 == 0 else (7, days)
    if isinstance(step, offsets.Tick):
        for season, unit in ((1440, MINUTE), (3600, SECOND)):
            if step.nanos % unit == 0:
                return season, step.nanos // unit
        return 1, 1
    return SEASONS.get(step.name.partition("-")[0], 1), step.n


def _parse_step(freq: Any, dtype: np.dtype) -> Step:
    """The step that a caller gives, for timestamps of a dtype."""
    if dtype.kind != "M":
        if not is_number(freq):
            raise InputError(f"freq={freq!r}: the times are numbers, so freq must be a number")
        if not (math.isfinite(freq) and freq > 0):
            raise InputError(f"freq={freq}: must be greater than 0")
        if dtype.kind == "i" and freq != int(freq):
            raise InputError(f"freq={freq}: the times are whole numbers, so freq must be one")
        return int(freq) if dtype.kind == "i" else float(freq)
    if not isinstance(freq, str | offsets.BaseOffset | datetime.timedelta):
        raise InputError(f"freq={freq!r}: the times are dates, so freq must be a pandas alias, such as 'D' or 'MS'")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about aliases that will change, such as 'd'
            step = to_offset(_renew(freq) if isinstance(freq, str) else freq)
    except ValueError as error:
        raise InputError(f"freq={freq!r} is not a frequency that pandas knows") from error
    if type(step) is offsets.DateOffset or step.n < 1:
        raise InputError(f"freq={freq!r} is not a step forward with a name in pandas, such as 'D' or 'MS'")
    days = {offsets.Day: 1, offsets.Week: 7}.get(type(step), 0) * step.n
    if days * DAY > LONGEST:
        raise InputError(f"freq={freq!r} is a step of more than 292 years")
    return offsets.Day(days) if isinstance(step, offsets.Week) and step.weekday is None else step


def _renew(alias: str) -> str:
    """An alias of pandas with today's names: 15T is 15min, Q-DEC is QE-DEC."""
    return re.sub(r"([A-Za-z]+)((?:-\w+)*)", lambda part: OLD_ALIASES.get(part[1], part[1]) + part[2], alias)


def _common_time_of_day(stamps: list[np.ndarray], zone: Zone) -> int:
    """The most common time of day, in nanoseconds after midnight."""
    wall = to_wall(_sample(stamps)[0], zone)
    return _mode((wall - wall.astype("datetime64[D]")).astype(np.int64))


def _infer_step(stamps: list[np.ndarray], zone: Zone) -> Step:
    """The most common step of some series with or without gaps; the median step of irregular series."""
    dtype = stamps[0].dtype
    several = [x for x in stamps if len(x) > 1]
    if not several:
        if dtype.kind == "M":
            raise InputError(
                "the frequency cannot be inferred because no series has two dates: give freq, such as 'D' or 'MS'"
            )
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
    """The length from each timestamp to the next, float64."""
    if stamps.dtype.kind == "f":
        return np.diff(stamps)
    # In two parts, because the difference of two int64 can overflow int64.
    high, low = np.divmod(stamps.astype(np.int64), 2**32)
    return np.diff(high) * 2.0**32 + np.diff(low)


def _check_length(nanoseconds: int) -> None:
    if nanoseconds > LONGEST:
        raise InputError("most dates are more than 292 years apart, which is too long for a step: give freq")


def _sample(stamps: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The last timestamps of some series, concatenated, and which of them are the first of a series."""
    some = stamps[:: -(-len(stamps) // SAMPLE_SERIES)]
    some = [x[-(SAMPLE_STAMPS // len(some)) :] for x in some]
    starts = np.zeros(sum(map(len, some)), bool)
    starts[np.cumsum([0, *map(len, some)])[:-1]] = True
    return np.concatenate(some), starts


def _common_length(lengths: np.ndarray) -> float:
    """The most common length if most lengths are multiples of it, else their median."""
    median = np.median(lengths)
    # Float times are slightly uneven.
    _, group, counts = np.unique(np.round(lengths / median * 1e6), return_inverse=True, return_counts=True)
    common = np.median(lengths[group == counts.argmax()])
    ratio = lengths / common
    is_multiple = (np.abs(ratio - np.round(ratio)) < 1e-3) & (ratio > 0.5)
    is_regular = is_multiple.mean() >= REGULAR and counts.max() >= COMMON * len(lengths)
    return float(common if is_regular else median)


def _common_days(days: np.ndarray, within: np.ndarray) -> offsets.BaseOffset:
    """The most common step between days (datetime64[D]); `within` marks pairs of the same series."""
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
    """The monthly calendar that most days follow; None if there is no such calendar."""
    day = _mode((days - days.astype("datetime64[M]")).astype(np.int64)) + 1
    best: Any = None
    best_share = 0.0
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
    """The most common whole number; of several, the smallest."""
    values, counts = np.unique(x, return_counts=True)
    return int(values[counts.argmax()])
