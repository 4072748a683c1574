"""The series of a caller: read once from a frame or from arrays, with their frequency and season."""

import dataclasses
import functools
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fimjax.errors import InputError
from fimjax.frames.columns import Source, check_count, refuse_unsorted, to_objects, to_stamps, to_values
from fimjax.frames.frequency import Freq, Frequency, infer_frequency
from fimjax.frames.tables import ID, TARGET, TIME, ArraySchema, Schema, read_frame

MAX_STAMPS = 10_000_000
"""Most timestamps of one series after missing ones were inserted; more mean a wrong frequency or date."""

ON_GRID = 1e-3
"""How far from a whole step the timestamps of a regular series may be."""

REGULAR = 0.8
"""Share of timestamps on whole steps from which on a series is regular, so that missing ones can be inserted."""

ACCEPTED = (
    "a frame of pandas or polars, an array or list of numbers, a list of these, or a tuple (t, y) or (t, y, mask)"
)
"""Kinds of input, for error messages."""


@dataclasses.dataclass(frozen=True, eq=False)
class Panel:
    """B series as a caller gave them. All methods of the forecaster and the plots work on this one record."""

    schema: Schema
    """Ids, names of columns, and how to build predictions."""
    stamps: list[np.ndarray]  # B arrays of int64, float64 or datetime64[ns] (UTC), strictly increasing
    values: list[np.ndarray]  # B arrays of float64, NaN = missing
    freq: Freq | None = None
    """The frequency that the caller gave; None to infer it."""
    season_length: int | None = None
    """The season that the caller gave; None for the usual one of the frequency."""

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def ids(self) -> np.ndarray:
        """[B], objects (str, int, ...) in order of first appearance."""
        return self.schema.ids

    @property
    def has_dates(self) -> bool:
        """Whether times are dates rather than numbers."""
        return self.stamps[0].dtype.kind == "M"

    @property
    def ends(self) -> np.ndarray:
        """[B], the last timestamp of each series, observed or not."""
        return np.array([stamps[-1] for stamps in self.stamps])

    @functools.cached_property
    def frequency(self) -> Frequency:
        """The step between two points."""
        return infer_frequency(self.stamps, self.freq, self.schema.zone)

    @functools.cached_property
    def season(self) -> int:
        """Steps in a season, 1 for none."""
        if self.season_length is None:
            return self.frequency.season_length
        season = check_count("season_length", self.season_length)
        if season >= 2**31:
            raise InputError(f"season_length={season}: must be less than 2**31")
        return season

    def with_float_times(self) -> "Panel":
        """The same panel, with predictions at times that need not be whole numbers."""
        return dataclasses.replace(self, schema=self.schema.with_floats())

    def positions(self) -> list[np.ndarray]:
        """The times of each series in steps, 0 at its last timestamp."""
        lengths = [len(stamps) for stamps in self.stamps]
        found = self.frequency.positions(np.concatenate(self.stamps), np.repeat(self.ends, lengths))
        return np.split(found, np.cumsum(lengths)[:-1])

    def build(self, ids: np.ndarray, stamps: np.ndarray, columns: dict[str, np.ndarray]) -> Any:
        """Builds a frame of the caller's kind from ids, timestamps and further columns."""
        return self.schema.build({self.schema.id_col: ids, self.schema.time_col: stamps, **columns})


def read_panel(
    data: Any,
    freq: Freq | None = None,
    season_length: int | None = None,
    id_col: str = ID,
    time_col: str = TIME,
    target_col: str = TARGET,
    row_name: Callable[[int], str] = lambda row: f"row {row}",
) -> Panel:
    """Reads and checks frames of pandas or polars, arrays, lists of arrays, and tuples (t, y) or (t, y, mask).

    Args:
        data: the series. A Panel is returned as it is, with its own frequency and season.
        row_name: how error messages name a row of a frame.
    """
    if isinstance(data, Panel):
        return data
    schema: Schema
    if is_frame(data):
        schema, stamps, values = read_frame(data, id_col, time_col, target_col, row_name)
    else:
        schema, stamps, values = read_arrays(data)
    return Panel(schema, stamps, values, freq, season_length)


def is_frame(data: Any) -> bool:
    """Whether this is a frame, including lazy frames of polars."""
    # A lazy frame warns if it is asked for its columns.
    return hasattr(data, "collect") or hasattr(data, "columns")


def insert_missing_timestamps(panel: Panel) -> tuple[Panel, list[np.ndarray]]:
    """Adds a row without a value at every step that a regular series lacks; irregular series stay as they are.

    Returns:
        The panel with these rows, and the times of each series in steps, 0 at its last timestamp.
    """
    rows = zip(panel.ids, panel.stamps, panel.values, panel.positions())
    stamps, values, positions = zip(*(_insert_missing(*row, panel.frequency) for row in rows))
    return dataclasses.replace(panel, stamps=list(stamps), values=list(values)), list(positions)


def _insert_missing(
    id: Any, stamps: np.ndarray, values: np.ndarray, positions: np.ndarray, frequency: Frequency
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Timestamps, values and positions [m] of one series, from its own [n]."""
    steps = int(round(-positions[0]))
    regular = np.abs(positions - positions.round()) <= ON_GRID
    if (steps + 1 == len(stamps) and regular.all()) or regular.mean() < REGULAR or not regular[0]:
        return stamps, values, positions
    if steps >= MAX_STAMPS:
        raise InputError(f"series {id!r} has {len(stamps)} rows in {steps} steps of {frequency}: give freq")
    grid = np.concatenate([stamps[:1], frequency.stamps_after(stamps[0], steps)])
    empty = np.ones(len(grid), bool)
    empty[np.clip((positions.round() + steps).astype(np.int64), 0, steps)] = False
    added = np.flatnonzero(empty)
    columns = (stamps, grid[added]), (values, np.full(len(added), np.nan)), (positions, added - float(steps))
    order = np.argsort(np.concatenate(columns[0]), kind="stable")
    first, second, third = (np.concatenate(parts)[order] for parts in columns)
    return first, second, third


def read_arrays(series: Any) -> tuple[ArraySchema, list[np.ndarray], list[np.ndarray]]:
    """Reads series from arrays (NumPy, masked, JAX, or lists of numbers); their ids are 0, 1, 2, ...

    Unobserved points keep their times. If these do not increase, the points are padding and are left out. The times of
    all series get one type: floats if those of any series are floats.

    Args:
        series: values [T] of one series or [B, T] of several, at times 0, 1, 2, ...; or a tuple (t, y) or (t, y, mask),
            mask True where observed, with y [T] or [B, T] and the others broadcast to it; or a list with values [T] or
            such a tuple for each series. The index of a pandas Series is its t, unless t is given.

    Returns:
        The schema, and the timestamps and values of each series as in a Panel.
    """
    if not isinstance(series, list | tuple) and _array(series, "y").ndim == 0:
        raise InputError(f"the input is {_describe(series)}, not {ACCEPTED}")
    if isinstance(series, list) and not (series and all(map(_is_number, series))):
        parts = [part if isinstance(part, tuple) else (None, part) for part in series]
    else:
        parts = _rows(series if isinstance(series, tuple) else (None, series))
    if not parts:
        raise InputError("there are no series")
    read = [_read(part, i) for i, part in enumerate(parts)]
    return ArraySchema(to_objects(range(len(read)))), _of_one_type([t for t, _ in read]), [y for _, y in read]


def _describe(x: Any) -> str:
    """Names an input that is not an array."""
    if x is None:
        return "None"
    if isinstance(x, str):
        return f"text ({x if len(x) <= 40 else x[:39] + '…'!r})"
    if isinstance(x, numbers.Real):
        return f"a single number ({x})"
    return "an array without a dimension" if hasattr(x, "ndim") else f"a {type(x).__name__}"


def _of_one_type(stamps: list[np.ndarray]) -> list[np.ndarray]:
    """The timestamps of all series, as floats if any are floats."""
    dates = stamps[0].dtype.kind == "M"
    for i, x in enumerate(stamps):
        if (x.dtype.kind == "M") != dates:
            first, other = ("dates", "numbers") if dates else ("numbers", "dates")
            raise InputError(f"t of series {i} holds {other}, but t of series 0 holds {first}: give all of one kind")
    if len({x.dtype for x in stamps}) == 1:
        return stamps
    floats = [x.astype(np.float64, copy=False) for x in stamps]
    for i, x in enumerate(floats):
        if (x[1:] <= x[:-1]).any():
            raise InputError(f"t of series {i} is too large for floats, the type of the other series' times")
    return floats


def _is_number(x: Any) -> bool:
    return x is None or isinstance(x, numbers.Real)


def _rows(part: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """A tuple of arrays [B, T] as B tuples of arrays [T]; a tuple of arrays [T] unchanged."""
    _check_length(part)
    y = _array(part[1], "y")
    if y.ndim != 2:
        return [part]
    others = [None if x is None else _array(x, name) for x, name in zip(part[::2], ("t", "mask"))]
    try:
        t, *mask = ([None] * len(y) if x is None else np.broadcast_to(x, y.shape) for x in others)
    except ValueError as error:
        shapes = " and ".join(str(np.shape(x)) for x in part if x is not None)
        raise InputError(f"arrays of the shapes {shapes} do not fit each other") from error
    return list(zip(t, y, *mask))


def _check_length(part: tuple) -> None:
    if len(part) not in (2, 3):
        raise InputError(f"a tuple must be (t, y) or (t, y, mask), but has {len(part)} items")


def _array(x: Any, name: str) -> np.ndarray:
    """The input as an array."""
    if np.ma.is_masked(x) and not name.startswith("y"):
        raise InputError(f"{name} is masked; only y can be")
    try:
        return x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    except (TypeError, ValueError) as error:  # lists of lists of different lengths
        raise InputError(f"{name} is not an array of numbers") from error


def _read(part: tuple, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Timestamps and values of series i."""
    _check_length(part)
    y = _array(part[1], f"y of series {i}")
    if part[0] is not None:
        t = _array(part[0], f"t of series {i}")
    else:
        t = _index_times(part[1].index, i) if isinstance(part[1], pd.Series) else np.arange(y.size)
    arrays = {"y": y, "t": t}
    if len(part) == 3:
        arrays["mask"] = _array(part[2], f"mask of series {i}")
    for name, x in arrays.items():
        if x.ndim == 0:
            given = _describe(dict(zip(("t", "y", "mask"), part))[name])
            raise InputError(f"{name} of series {i} is {given}, not an array or a list of numbers")
        if x.ndim != 1:
            raise InputError(f"{name} of series {i} must have 1 dimension, but has {x.ndim}")
        if len(x) != len(y):
            raise InputError(f"{name} of series {i} has {len(x)} points, but y has {len(y)}")

    observed = ~np.ma.getmaskarray(y)
    if "mask" in arrays:
        observed &= _to_bool(arrays["mask"], i)
    seen = np.flatnonzero(observed)
    values = np.full(len(y), np.nan)
    if len(seen):
        values[seen] = to_values(np.ma.getdata(y)[seen], _source("y", i, seen))
    t = np.ma.getdata(arrays["t"])
    kept = np.arange(len(y)) if "mask" not in arrays or _rises(t) else seen
    if not len(kept):
        raise InputError(f"series {i} is empty")
    source = _source("t", i, kept)
    stamps = to_stamps(t[kept], source)
    falls = np.flatnonzero(stamps[1:] <= stamps[:-1])
    if len(falls):
        refuse_unsorted(stamps[falls[0]], stamps[falls[0] + 1], falls[0] + 1, source)
    return stamps, values[kept]


def _index_times(index: pd.Index, i: int) -> np.ndarray:
    """The times in the index of a pandas Series."""
    if isinstance(index, pd.DatetimeIndex) and index.tz is None:
        return index.to_numpy()
    if pd.api.types.is_numeric_dtype(index.dtype) and not pd.api.types.is_bool_dtype(index.dtype):
        return index.to_numpy()
    if isinstance(index, pd.DatetimeIndex):
        raise InputError(
            f"the index of series {i} has a time zone ({index.tz}), which arrays cannot keep: give a frame with "
            "columns unique_id, ds and y"
        )
    held = f" ({index[0]!r})" if len(index) else ""
    raise InputError(
        f"the index of series {i} holds neither dates (datetime64) nor numbers{held}: give (t, y), or call "
        "reset_index(drop=True) for times 0, 1, 2, ..."
    )


def _source(name: str, i: int, rows: np.ndarray) -> Source:
    """Some rows of an array of series i."""
    return Source(f"{name} of series {i}", lambda row: f"row {rows[row]}")


def _to_bool(mask: np.ndarray, i: int) -> np.ndarray:
    if mask.dtype.kind != "b" and (mask.dtype.kind not in "iuf" or not np.isin(mask, (0, 1)).all()):
        raise InputError(f"mask of series {i} must be True where y is observed and False elsewhere")
    return mask.astype(bool)


def _rises(t: np.ndarray) -> bool:
    """Whether times increase from first to last, so that none are padding."""
    return t.dtype.kind in "iufM" and bool((t[1:] > t[:-1]).all()) and (t.dtype.kind != "f" or np.isfinite(t).all())
