"""What a step is: its length or its calendar, the stamps that come next, and how long a season is by default."""

from dataclasses import dataclass

import numpy as np
from pandas import offsets

from fimjax.errors import InputError
from fimjax.frames.calendars import FIRST, LAST, count_of, dates_of, is_hourly, to_utc, to_wall
from fimjax.frames.panel import Zone
from fimjax.frames.steps import DAY, MINUTE, SECOND, Step, common_step, common_time_of_day, given_step

SEASONS = {"B": 5, "C": 5, "W": 52, "bh": 8, "cbh": 8} | {
    name: length
    for length, names in {24: "SMS SME", 12: "MS ME BMS BME CBMS CBME WOM LWOM", 4: "QS QE BQS BQE REQ"}.items()
    for name in names.split()
}
"""Steps in a season by the name that pandas has for a calendar."""


@dataclass(frozen=True)
class Frequency:
    """The step from one point of a series to the next.

    Days and what is made of days (weeks, months, ...) go by the clocks of the time zone, so a day may have 23 or 25
    hours; hours and shorter steps go by the time that passes.
    """

    step: Step
    """A number for stamps that are numbers, an offset of pandas for dates."""
    zone: Zone = None
    time_of_day: int = 0
    """How many nanoseconds after midnight the stamps of a calendar are whole steps."""

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

        Of several at once, such as 15min or 2h, as many as fill the season (96, 12); none if they do not fill it (7h).
        """
        length, count = _season(self.step)
        return length // count if length % count == 0 else 1

    def positions(self, stamps: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Times in steps after an origin.

        A calendar's dates are whole steps, and time runs evenly between them. Stamps of many series are best given at
        once, each with its own origin, for every call writes the calendar anew.

        Args:
            stamps: int64, float64 or datetime64[ns] (UTC), of any shape.
            origin: the stamp at 0, or stamps of a shape that fits.

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
        # Whole steps and the rest apart, for a difference of more than 292 years has too many nanoseconds.
        (whole, rest), (zero, part) = (np.divmod(x.astype(np.int64), length) for x in (stamps, origin))
        carry, rest = np.divmod(rest - part, length)
        return (whole - zero + carry) + rest / length

    def stamps_after(self, last: np.ndarray, h: int) -> np.ndarray:
        """The next h stamps after one, or after each of several.

        A stamp between two dates of the calendar goes on with the next one, at its own time of day, as `+` does in
        pandas: Wednesday + W-SUN is Sunday.

        Args:
            last: one stamp or [N]: int64, float64 or datetime64[ns] (UTC).

        Returns:
            [h] or [N, h], as last
        """
        last = np.asarray(last)
        length = None if isinstance(self.step, offsets.Week) else self._length
        if length is None:
            return self._dates_after(last.reshape(-1), h).reshape(*last.shape, h)
        if last.dtype.kind != "f" and int(last.max().astype(np.int64)) + length * h >= 2**63:
            raise InputError(f"{h} steps of {self} end after the last stamp that there can be")
        steps = length * np.arange(1, h + 1)
        return last[..., None] + (steps.astype("timedelta64[ns]") if last.dtype.kind == "M" else steps)

    @property
    def _length(self) -> int | float | None:
        """A step in the unit of the stamps; None if it goes by a calendar."""
        step = self.step
        if not isinstance(step, offsets.BaseOffset):
            return step
        if isinstance(step, offsets.Day | offsets.Week):
            days = step.n if isinstance(step, offsets.Day) else 7 * step.n
            return days * DAY if self.zone is None else None
        return step.nanos if isinstance(step, offsets.Tick) else None

    def _locate(self, *stamps: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The calendar's date before each stamp, by number, and how much of the time to the next one has passed."""
        ends = np.array([min(x.min() for x in stamps), max(x.max() for x in stamps)])
        dates = self._dates(*to_wall(ends, self.zone).astype("datetime64[D]"), after=2)
        marks = to_utc(dates + np.timedelta64(self.time_of_day, "ns"), self.zone)
        found = []
        for x in stamps:
            whole = np.clip(np.searchsorted(marks, x, side="right") - 1, 0, len(marks) - 2)
            found.append((whole, (x - marks[whole]) / (marks[whole + 1] - marks[whole])))
        return found

    def _dates_after(self, last: np.ndarray, h: int) -> np.ndarray:
        """The next h stamps [N, h] of a calendar after stamps [N]."""
        wall, count = to_wall(last, self.zone), count_of(self.step)
        days = wall.astype("datetime64[D]")
        dates = self._dates(days.min(), days.max(), after=count * h)
        # Business hours have no time of day to keep.
        start, rest = (wall, wall - wall) if is_hourly(self.step) else (days, wall - days)
        at = np.searchsorted(dates, start, side="right") - 1
        if at.max() + count * h >= len(dates):
            raise InputError(f"{h} steps of {self} end after {LAST}, the last day that there can be")
        return to_utc(dates[at[:, None] + count * np.arange(1, h + 1)] + rest[:, None], self.zone)

    def _dates(self, first: np.datetime64, last: np.datetime64, after: int) -> np.ndarray:
        """The calendar from before the first day to so many dates after the last, or to the end of time."""
        dates = dates_of(self.step, first, last, after + 1)
        dates = dates[(dates >= FIRST) & (dates <= LAST)].astype("datetime64[ns]")
        if self.zone is None or is_hourly(self.step):
            return dates
        # Islands have skipped a day when they crossed the date line.
        noon = to_wall(to_utc(dates + np.timedelta64(12, "h"), self.zone), self.zone)
        return dates[noon.astype("datetime64[D]") == dates]


def _season(step: Step) -> tuple[int, int]:
    """A season in units of a step, and how many of them the step has."""
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


def infer_frequency(stamps: list[np.ndarray], freq: str | int | float | None = None, zone: Zone = None) -> Frequency:
    """The frequency that a caller asks for, or that the stamps of N series show.

    Args:
        stamps: N arrays as in a Panel, strictly rising.
        freq: an alias of pandas for dates, or a number for numbers; None to infer it from the stamps. Stamps need not
            be on its dates.
        zone: the time zone of the dates.
    """
    step = common_step(stamps, zone) if freq is None else given_step(freq, stamps[0].dtype)
    if not isinstance(step, offsets.BaseOffset):
        return Frequency(step)
    by_day = isinstance(step, offsets.Day) or not (isinstance(step, offsets.Tick) or is_hourly(step))
    return Frequency(step, zone, common_time_of_day(stamps, zone) if by_day else 0)
