"""The series of a table, read once: a panel whose errors name lines of the file, and how the file spells times."""

import dataclasses

import numpy as np
import pandas as pd

from fimjax.cli.columns import Columns
from fimjax.cli.files import Table
from fimjax.cli.spellings import Times, read_times, refuse_thousands
from fimjax.errors import InputError
from fimjax.frames.columns import Source
from fimjax.frames.frequency import Freq
from fimjax.frames.panel import Panel, read_panel
from fimjax.frames.tables import CUTOFF, ID, TARGET, TIME


@dataclasses.dataclass(frozen=True)
class FileSeries:
    """The series of a file."""

    panel: Panel
    times: Times
    was_sorted: bool
    """Whether rows had to be sorted by time."""

    def spell(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Predictions with times in the spelling of the file, unless that would lose something."""
        columns = [column for column in (self.panel.schema.time_col, CUTOFF) if column in predictions]
        if not all(self.times.can_spell(predictions[column]) for column in columns):
            return predictions
        return predictions.assign(**{column: self.times.spell(predictions[column]) for column in columns})


def read_series(
    table: Table,
    columns: Columns,
    name: str,
    freq: Freq | None = None,
    season_length: int | None = None,
    date_format: str | None = None,
) -> FileSeries:
    """Reads the series of a table.

    Args:
        table: one row per point, or one row per time and one column per series.
        columns: its columns by purpose.
        name: the id of the series of a table without ids.
        freq: the frequency; if it is a number, times such as 1949 stay numbers.
        season_length: points in a season.
        date_format: how dates are spelled, as a format of strptime.
    """
    rows, place = table.frame, table.place
    if columns.time is None:
        time, times = TIME, Times(pd.Series(np.arange(len(rows)), name=TIME))
    else:
        time = columns.time
        _refuse_missing(table, time)
        times = read_times(rows[time], date_format, isinstance(freq, int | float), place)
    if len(columns.targets) > 1:
        id, target, series = _free(ID, time), _free(TARGET, time), len(columns.targets)
        ids = pd.Series(np.repeat(np.array(columns.targets, object), len(rows)))
        stamps = pd.concat([times.stamps] * series, ignore_index=True)
        values = pd.Series(np.concatenate([rows[column].to_numpy() for column in columns.targets]))
    else:
        (target,), series = columns.targets, 1
        id = columns.id or _free(ID, time, target)
        if columns.id is not None:
            _refuse_missing(table, columns.id)
        ids = rows[columns.id] if columns.id is not None else pd.Series([name] * len(rows), index=rows.index)
        stamps, values = times.stamps, rows[target]
    frame = pd.DataFrame({id: ids, time: stamps, target: values}).reset_index(drop=True)
    file_rows = np.tile(np.arange(len(rows)), series)
    order = _order_by_time(frame[id], frame[time])
    if order is not None:
        frame, file_rows = frame.iloc[order].reset_index(drop=True), file_rows[order]
    row_name = lambda row: place(int(file_rows[row]))
    if frame[target].dtype == object:
        ids = frame[id].astype(object)
        refuse_thousands(
            frame[target], Source(f"column {target!r}", lambda row: f"{row_name(row)} (series {ids[row]!r})")
        )
    panel = read_panel(frame, freq, season_length, id, time, target, row_name)
    panel.season  # noqa: B018  checks freq and season_length
    return FileSeries(panel, times, order is not None)


def describe(columns: Columns, panel: Panel, table: Table) -> str:
    """What was read from a table, in one line."""
    count = "one series" if len(panel) == 1 else f"{len(panel):,} series"
    parts = [f"id = {columns.id}"] if columns.id is not None else []
    parts.append(f"time = {columns.time or '0, 1, 2, ...'}")
    targets = columns.targets
    parts.append(f"target = {targets[0]}" if len(targets) == 1 else f"targets = {_shorten(targets)}")
    season = "no season" if panel.season == 1 else f"{panel.season} to a season"
    commas = [column for column in table.decimal_commas if column in columns]
    decimals = f"; decimal comma in {_shorten(commas)}" if commas else ""
    unused = [column for column in table.frame.columns if column not in columns]
    others = f"; not used: {_shorten(unused)}" if unused else ""
    return f"{', '.join(parts)}, {count}; frequency {panel.frequency} ({season}){decimals}{others}"


def _order_by_time(ids: pd.Series, times: pd.Series) -> np.ndarray | None:
    """The order of rows in which the times of each series increase; None if they do already."""
    series, ranks = pd.factorize(ids)[0], pd.factorize(times, sort=True)[0]
    grouped = np.argsort(series, kind="stable")
    falls = (np.diff(ranks[grouped]) < 0) & (np.diff(series[grouped]) == 0)
    return np.lexsort((ranks, series)) if falls.any() else None


def _refuse_missing(table: Table, column: str) -> None:
    missing = table.frame[column].isna().to_numpy()
    if missing.any():
        raise InputError(f"column {column!r} is missing in {table.place(int(missing.argmax()))}")


def _free(name: str, *taken: str) -> str:
    """A name that is not taken."""
    while name in taken:
        name += "_"
    return name


def _shorten(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(names if len(names) <= 5 else [*names[:4], f"and {len(names) - 4} more"])
