"""Which columns of a table hold the ids, times and values of its series: by their names, else by what is in them."""

import dataclasses
import re
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from fimjax.cli.messages import CommandError
from fimjax.cli.numerals import looks_like_numbers
from fimjax.cli.times import could_be_times, looks_like_dates

Tiers = tuple[tuple[str, ...], ...]
"""Usual names; those of an earlier tier leave no doubt beside those of a later one."""

ID_NAMES: Tiers = (("unique_id",), ("id", "series_id", "item_id", "ts_id", "series", "item"))
GROUP_NAMES = (
    "store", "shop", "product", "sku", "symbol", "ticker", "country", "region", "state", "city", "station", "site",
    "sensor", "meter", "customer", "category", "group", "name",
)  # fmt: skip
"""Ids only in tables that need one, for they may as well describe a single series."""
TIME_NAMES: Tiers = (
    ("ds",),
    ("timestamp", "datetime", "date_time", "date", "time"),
    ("period", "year", "quarter", "month", "week", "day", "hour", "t"),
)
TARGET_NAMES: Tiers = (
    ("y",),
    ("target", "value", "values"),
    ("sales", "demand", "quantity", "qty", "count", "price", "close", "amount", "load", "units"),
)


@dataclasses.dataclass(frozen=True)
class Roles:
    """Columns by what they are for."""

    id: str | None
    """None if the table has no ids: it is one series, or one series a column."""
    time: str | None
    """None if the rows stand for 0, 1, 2, ..."""
    targets: tuple[str, ...]
    """One column, or several of which each is a series."""

    def __contains__(self, column: str) -> bool:
        return column in (self.id, self.time, *self.targets)


def is_id_name(name: str, given: str | None = None) -> bool:
    """Whether a column is taken for ids by its name."""
    return name == given if given is not None else any(_plain(name) in tier for tier in (*ID_NAMES, GROUP_NAMES))


def is_time_name(name: str, given: str | None = None) -> bool:
    """Whether a column may be taken for times by its name."""
    return name == given if given is not None else any(_plain(name) in tier for tier in TIME_NAMES)


def is_usual_name(name: str) -> bool:
    """Whether columns are often called so."""
    return is_id_name(name) or is_time_name(name) or any(_plain(name) in tier for tier in TARGET_NAMES)


def guess_roles(
    table: pd.DataFrame,
    id: str | None = None,
    time: str | None = None,
    targets: Iterable[str] | None = None,
    date_format: str | None = None,
) -> Roles:
    """Finds the columns that were not given, times by how dates are spelled if that is known.

    Raises:
        CommandError: if a given column is not there, or if several columns would do or none does.
    """
    targets = tuple(targets or ())
    _check_given(table, id, time, targets)
    table = table.drop(columns=[c for c in table.columns if c not in (id, time, *targets) and _is_clutter(table[c])])
    guess, is_wide = _Guess(table, targets, date_format), len(targets) > 1
    if id is None and not is_wide:
        id = guess.named_id(time)
    time = time or guess.time(id)
    if id is None and not is_wide and time is not None and table[time].duplicated().any():
        id = guess.group_id(time)
    return Roles(id, time, targets or guess.targets(id, time))


@dataclasses.dataclass(frozen=True)
class _Guess:
    """One step of guessing after the other; each knows what the earlier ones found."""

    table: pd.DataFrame
    given: tuple[str, ...]
    """Targets that are known."""
    date_format: str | None

    def named_id(self, time: str | None) -> str | None:
        # What is different in every row tells rows apart, not series.
        repeats = lambda column: len(column) == 1 or column.duplicated().any()
        return _only(self._named(self._left(time), ID_NAMES, repeats), "id", "--id")

    def time(self, id: str | None) -> str | None:
        columns = self._left(id)
        if named := self._named(columns, TIME_NAMES, lambda column: could_be_times(column, self.date_format)):
            return _only(named, "time", "--time")
        columns = [c for c in columns if c not in self._named(columns, TARGET_NAMES, _holds_numbers)]
        if dates := [c for c in columns if looks_like_dates(self.table[c], self.date_format)]:
            return _only(dates, "time", "--time")
        if self.given or len(self._numeric(id)) > 1:  # a single column of numbers is the target
            if rising := [c for c in columns if self._rises(c, id)]:
                return _only(rising, "time", "--time")
        if len(self.table.columns) == 1 and _holds_numbers(self.table.iloc[:, 0]):
            return None
        raise CommandError(f"none of the columns {_listed(self.table.columns)} holds times: give --time")

    def group_id(self, time: str) -> str | None:
        """What tells series apart in a table whose times repeat."""
        columns = self._left(time)
        found = [c for c in columns if self._is_group(self.table[c])]
        varied = [c for c in found if self.table[c].nunique() > 1]
        if found:
            return _only(varied or found[:1], "id", "--id")
        named = self._named(columns, TARGET_NAMES, _holds_numbers)
        others = [c for c in columns if c not in named and not is_time_name(c)]
        if len(self._numeric(time)) > 1 and others:
            raise CommandError(
                f"column {time!r} has times more than once, and it is not plain which of the columns {_listed(others)} "
                "tells series apart: give --id"
            )
        return None

    def targets(self, id: str | None, time: str | None) -> tuple[str, ...]:
        columns = self._numeric(id, time)
        named = self._named(columns, TARGET_NAMES, _holds_numbers)
        if not columns:
            raise CommandError(
                f"none of the columns {_listed(self.table.columns)} is left that holds numbers: give --target"
            )
        if len(columns) > 1 and len(named) != 1 and id is not None:
            _only(named or columns, "target", "--target")
        return tuple(named if len(named) == 1 else columns)

    def _left(self, *taken: str | None) -> list[str]:
        return [column for column in self.table.columns if column not in (*taken, *self.given)]

    def _numeric(self, *taken: str | None) -> list[str]:
        return [column for column in self._left(*taken) if _holds_numbers(self.table[column])]

    def _named(self, columns: list[str], tiers: Tiers, fits: Callable[[pd.Series], bool]) -> list[str]:
        """The columns of the first tier that has any of a fitting content."""
        for tier in tiers:
            if found := [c for c in columns if _plain(c) in tier and fits(self.table[c])]:
                return found
        return []

    def _is_group(self, column: pd.Series) -> bool:
        is_time = looks_like_dates(column) or is_time_name(column.name)  # such as 10:00 beside a date
        is_text = not pd.api.types.is_numeric_dtype(column)
        return not is_time and (is_text or _plain(column.name) in GROUP_NAMES) and column.duplicated().any()

    def _rises(self, column: str, id: str | None) -> bool:
        """Whether the numbers of a column rise from row to row of each series."""
        x = self.table[column]
        if not _is_number(x) or x.isna().any():
            return False
        return all((np.diff(part) > 0).all() for _, part in (x.groupby(self.table[id]) if id else [(None, x)]))


def _check_given(table: pd.DataFrame, id: str | None, time: str | None, targets: tuple[str, ...]) -> None:
    given = [("--id", id), ("--time", time), *(("--target", target) for target in targets)]
    for option, name in given:
        if name is not None and name not in table.columns:
            raise CommandError(f"{option}: there is no column {name!r}, only {_listed(table.columns)}")
    names = [name for _, name in given if name is not None]
    for name in names:
        if names.count(name) > 1:
            raise CommandError(f"--id, --time, --target: column {name!r} is given twice")
    if id is not None and len(targets) > 1:
        raise CommandError("--target: several columns are a series each, and leave nothing for --id to tell apart")


def _is_clutter(column: pd.Series) -> bool:
    """Whether pandas had to name the column, and it is empty or numbers the rows."""
    if not str(column.name).startswith("Unnamed: "):
        return False
    if column.isna().all():
        return True
    rows = np.arange(len(column))
    return _is_number(column) and any(np.array_equal(column, rows + start) for start in (0, 1))


def _holds_numbers(column: pd.Series) -> bool:
    """Whether a column is of numbers, perhaps with text among them that the library will refuse by its row."""
    if column.dtype == object:
        seen = column.dropna()
        is_number = pd.to_numeric(seen, errors="coerce").notna()
        return len(seen) > 0 and (is_number.mean() > 0.5 or looks_like_numbers(seen))
    return _is_number(column)


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _only(found: list[str], role: str, option: str) -> str | None:
    if len(found) > 1:
        raise CommandError(f"the {role} may be any of the columns {_listed(found)}: give {option}")
    return found[0] if found else None


def _plain(name: str) -> str:
    """A name without case and signs: '#Item ID' is item_id."""
    return re.sub(r"[^a-z0-9]+", "_", str(name).casefold()).strip("_")


def _listed(names: Iterable[str]) -> str:
    names = [repr(name) for name in names]
    return ", ".join(names if len(names) <= 12 else [*names[:10], f"and {len(names) - 10} more"])
