"""The series of a table as the long frame that the library reads, with every fault told by its place in the file."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pandas as pd

from fimjax.cli.files import Table
from fimjax.cli.guess import Roles
from fimjax.cli.numerals import refuse_thousands
from fimjax.cli.times import Times, read_times
from fimjax.errors import InputError
from fimjax.frames.inputs import Inputs
from fimjax.frames.panel import Source, to_values

ID, TIME, TARGET = "unique_id", "ds", "y"
"""Names of the columns that a table leaves unnamed."""


@dataclasses.dataclass(frozen=True)
class Series:
    """A long frame, its columns, and how its times were spelled."""

    frame: pd.DataFrame
    id: str
    time: str
    target: str
    times: Times
    was_sorted: bool
    """Whether rows had to be put in the order of time."""

    @property
    def columns(self) -> dict[str, str]:
        """As the library wants to be told."""
        return {"id_col": self.id, "time_col": self.time, "target_col": self.target}

    def spell(self, answers: pd.DataFrame) -> pd.DataFrame:
        """Answers with their times in the spelling of the table, unless they would lose by it."""
        stamps = [column for column in (self.time, "cutoff") if column in answers]
        if not all(self.times.can_spell(answers[column]) for column in stamps):
            return answers
        return answers.assign(**{column: self.times.spell(answers[column]) for column in stamps})


def read_series(source: Table, roles: Roles, name: str, date_format: str | None, keep_numbers: bool) -> Series:
    """Makes a long frame of a table.

    Args:
        source: one row a point, or one row a time and one column a series.
        roles: its columns.
        name: of the series of a table without ids.
        date_format, keep_numbers: as `read_times` has them.
    """
    table, place = source.frame, source.place
    time = roles.time or TIME
    if roles.time is None:
        times = Times(pd.Series(np.arange(len(table)), name=TIME))
    else:
        _refuse_missing(table, roles.time, place)
        times = read_times(table[roles.time], date_format, keep_numbers, place)
    if len(roles.targets) > 1:
        frame, target = _melt(table, times, roles.targets, time), _free(TARGET, time)
        rows = np.tile(np.arange(len(table)), len(roles.targets))
        id = _free(ID, time)
    else:
        (target,) = roles.targets
        id = roles.id or _free(ID, time, target)
        if roles.id is not None:
            _refuse_missing(table, roles.id, place)
        ids = table[roles.id] if roles.id is not None else pd.Series([name] * len(table), index=table.index)
        frame = pd.DataFrame({id: ids, time: times.stamps, target: table[target]})
        rows = np.arange(len(table))
    frame, was_sorted = _check_and_sort(frame, id, time, target, lambda row: place(rows[row]))
    return Series(frame, id, time, target, times, was_sorted)


def describe(roles: Roles, inputs: Inputs, source: Table) -> str:
    """What was read of a table, in one line."""
    count = "one series" if len(inputs.panel) == 1 else f"{len(inputs.panel):,} series"
    parts = [f"id = {roles.id}"] if roles.id is not None else []
    parts.append(f"time = {roles.time or '0, 1, 2, ...'}")
    parts.append(f"target = {roles.targets[0]}" if len(roles.targets) == 1 else f"targets = {_shorten(roles.targets)}")
    season = "no season" if inputs.season == 1 else f"{inputs.season} to a season"
    commas = [column for column in source.decimal_commas if column in roles]
    decimals = f"; decimal comma in {_shorten(commas)}" if commas else ""
    unused = [column for column in source.frame.columns if column not in roles]
    others = f"; not used: {_shorten(unused)}" if unused else ""
    return f"{', '.join(parts)}, {count}; frequency {inputs.frequency} ({season}){decimals}{others}"


def _melt(table: pd.DataFrame, times: Times, targets: tuple[str, ...], time: str) -> pd.DataFrame:
    """One series after the other, each named as its column."""
    values = [table[target].to_numpy() for target in targets]
    return pd.DataFrame(
        {
            _free(ID, time): np.repeat(np.array(targets, object), len(table)),
            time: pd.concat([times.stamps] * len(targets), ignore_index=True),
            _free(TARGET, time): np.concatenate(values),
        }
    )


def _check_and_sort(
    frame: pd.DataFrame, id: str, time: str, target: str, line: Callable[[int], str]
) -> tuple[pd.DataFrame, bool]:
    """Refuses what the library would refuse, while it is known in which line each row is."""
    ids, values = frame[id].astype(object).to_numpy(), frame[target].to_numpy()
    place = lambda row: f"{line(row)} (series {ids[row]!r})"
    if values.dtype == object:
        source = Source(f"column {target!r}", place)
        refuse_thousands(frame[target], source)
        frame = frame.assign(**{target: to_values(values, source)})
    series = pd.factorize(frame[id])[0]
    ranks = pd.factorize(frame[time], sort=True)[0]
    twice = pd.DataFrame({"series": series, "rank": ranks}).duplicated().to_numpy()
    if twice.any():
        row = int(twice.argmax())
        Source(f"column {time!r}", place).refuse(f"has {frame[time].iloc[row]} for the second time", row)
    grouped = np.argsort(series, kind="stable")
    falls = (np.diff(ranks[grouped]) < 0) & (np.diff(series[grouped]) == 0)
    if not falls.any():
        return frame.reset_index(drop=True), False
    return frame.iloc[np.lexsort((ranks, series))].reset_index(drop=True), True


def _refuse_missing(table: pd.DataFrame, column: str, place: Callable[[int], str]) -> None:
    missing = table[column].isna().to_numpy()
    if missing.any():
        raise InputError(f"column {column!r} is missing in {place(int(missing.argmax()))}")


def _free(name: str, *taken: str) -> str:
    while name in taken:
        name += "_"
    return name


def _shorten(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(names if len(names) <= 5 else [*names[:4], f"and {len(names) - 4} more"])
