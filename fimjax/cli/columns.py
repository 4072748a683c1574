"""Which columns of a table hold ids, times and values: by their names, else by their content."""

import dataclasses
import re
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from fimjax.cli.console import CommandError
from fimjax.cli.spellings import could_be_times, looks_like_dates, looks_like_numbers

Tiers = tuple[tuple[str, ...], ...]
"""Usual names; a name of an earlier tier is preferred to those of later ones."""

ID_NAMES: Tiers = (("unique_id",), ("id", "series_id", "item_id", "ts_id", "series", "item"))
GROUP_NAMES = (
    "store", "shop", "product", "sku", "symbol", "ticker", "country", "region", "state", "city", "station", "site",
    "sensor", "meter", "customer", "category", "group", "name",
)  # fmt: skip
"""Names of ids only in tables whose times repeat, because they may also describe a single series."""
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
class Columns:
    """Columns by their purpose."""

    id: str | None
    """None if the table is one series, or has one series in each column."""
    time: str | None
    """None if the times are the row numbers 0, 1, 2, ..."""
    targets: tuple[str, ...]
    """One column, or several that are one series each."""

    def __contains__(self, column: str) -> bool:
        return column in (self.id, self.time, *self.targets)


def is_id_name(name: str, given: str | None = None) -> bool:
    """Whether a column is taken for ids by its name."""
    return name == given if given is not None else any(_plain(name) in tier for tier in (*ID_NAMES, GROUP_NAMES))


def is_time_name(name: str, given: str | None = None) -> bool:
    """Whether a column may be taken for times by its name."""
    return name == given if given is not None else any(_plain(name) in tier for tier in TIME_NAMES)


def is_usual_name(name: str) -> bool:
    """Whether this is a usual name for ids, times or values."""
    return is_id_name(name) or is_time_name(name) or any(_plain(name) in tier for tier in TARGET_NAMES)


def find_columns(
    table: pd.DataFrame,
    id: str | None = None,
    time: str | None = None,
    targets: Iterable[str] | None = None,
    date_format: str | None = None,
) -> Columns:
    """Finds the columns that were not given; `date_format` says how dates are spelled, if that is known.

    Raises:
        CommandError: if a given column does not exist, or if several columns fit or none does.
    """
    targets = tuple(targets or ())
    _check_given(table, id, time, targets)
    table = table.drop(columns=[c for c in table.columns if c not in (id, time, *targets) and _is_clutter(table[c])])
    search, is_wide = _Search(table, targets, date_format), len(targets) > 1
    if id is None and not is_wide:
        id = search.named_id(time)
    time = time or search.time(id)
    if id is None and not is_wide and time is not None and table[time].duplicated().any():
        id = search.group_id(time)
    return Columns(id, time, targets or search.targets(id, time))


@dataclasses.dataclass(frozen=True)
class _Search:
    """The steps of the search; each uses the results of earlier ones."""

    table: pd.DataFrame
    given: tuple[str, ...]
    """Targets that the user gave."""
    date_format: str | None

    def named_id(self, time: str | None) -> str | None:
        # A column that is different in every row identifies rows, not series.
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
        """The column that identifies series in a table whose times repeat."""
        columns = self._left(time)
        found = [c for c in columns if self._is_group(self.table[c])]
        varied = [c for c in found if self.table[c].nunique() > 1]
        if found:
            return _only(varied or found[:1], "id", "--id")
        named = self._named(columns, TARGET_NAMES, _holds_numbers)
        others = [c for c in columns if c not in named and not is_time_name(c)]
        if len(self._numeric(time)) > 1 and others:
            raise CommandError(
                f"column {time!r} has repeated times, and it is unclear which of the columns {_listed(others)} "
                "identifies the series: give --id"
            )
        return None

    def targets(self, id: str | None, time: str | None) -> tuple[str, ...]:
        columns = self._numeric(id, time)
        named = self._named(columns, TARGET_NAMES, _holds_numbers)
        if not columns:
            raise CommandError(f"none of the columns {_listed(self.table.columns)} holds numbers: give --target")
        if len(columns) > 1 and len(named) != 1 and id is not None:
            _only(named or columns, "target", "--target")
        return tuple(named if len(named) == 1 else columns)

    def _left(self, *taken: str | None) -> list[str]:
        return [column for column in self.table.columns if column not in (*taken, *self.given)]

    def _numeric(self, *taken: str | None) -> list[str]:
        return [column for column in self._left(*taken) if _holds_numbers(self.table[column])]

    def _named(self, columns: list[str], tiers: Tiers, fits: Callable[[pd.Series], bool]) -> list[str]:
        """The columns of the first tier that has any with fitting content."""
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
        raise CommandError("--target: several columns are one series each, so --id cannot be given")


def _is_clutter(column: pd.Series) -> bool:
    """Whether a column without a name is empty or numbers the rows."""
    if not str(column.name).startswith("Unnamed: "):
        return False
    if column.isna().all():
        return True
    rows = np.arange(len(column))
    return _is_number(column) and any(np.array_equal(column, rows + start) for start in (0, 1))


def _holds_numbers(column: pd.Series) -> bool:
    """Whether a column holds numbers, perhaps with some text that is refused later."""
    if column.dtype == object:
        seen = column.dropna()
        is_number = pd.to_numeric(seen, errors="coerce").notna()
        return len(seen) > 0 and (is_number.mean() > 0.5 or looks_like_numbers(seen))
    return _is_number(column)


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _only(found: list[str], role: str, option: str) -> str | None:
    if len(found) > 1:
        raise CommandError(f"several columns may be the {role}, {_listed(found)}: give {option}")
    return found[0] if found else None


def _plain(name: str) -> str:
    """A name without case and punctuation: '#Item ID' is item_id."""
    return re.sub(r"[^a-z0-9]+", "_", str(name).casefold()).strip("_")


def _listed(names: Iterable[str]) -> str:
    names = [repr(name) for name in names]
    return ", ".join(names if len(names) <= 12 else [*names[:10], f"and {len(names) - 10} more"])
