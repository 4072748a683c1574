"""Series in memory: ids, stamps and values, read from arrays."""

import datetime
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from fimjax.errors import InputError

Zone = str | datetime.tzinfo | None
"""The time zone whose clocks a series follows; None if its dates have none."""


def check_count(name: str, value: int) -> int:
    """A whole number of at least one."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not value >= 1 or value % 1:
        raise InputError(f"{name}={value!r}: must be a whole number of at least 1")
    return int(value)


@dataclass(frozen=True)
class Panel:
    """N series as the caller gave them."""

    ids: np.ndarray  # [N], objects (str, int, ...) in order of first appearance
    stamps: list[np.ndarray]  # N arrays of int64, float64 or datetime64[ns] (UTC instants), strictly rising
    values: list[np.ndarray]  # N arrays of float64, NaN = missing

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Source:
    """What an array was read from, to say where a fault lies."""

    name: str
    place: Callable[[int], str]
    """The name of a row."""

    def refuse(self, fault: str, row: int, hint: str = "") -> NoReturn:
        """Raises the error that row has a fault."""
        raise InputError(f"{self.name} {fault} in {self.place(int(row))}{hint}")


def from_arrays(series: Any) -> Panel:
    """Reads series from arrays (NumPy, masked, JAX, or lists of numbers); their ids are 0, 1, 2, ...

    Unobserved points keep their times, unless these do not rise: then they are padding, and left out. The times of all
    series are of one type: floats where those of any are.

    Args:
        series: values [T] of one series or [N, T] of several, at times 0, 1, 2, ...; or a tuple (t, y) or (t, y, mask),
            mask True where observed, with y [T] or [N, T] and the others of a shape that fits; or a list with values
            [T] or such a tuple for each series. The index of a Series of pandas is its t, if no other is given.
    """
    if is_frame(series):
        raise InputError(f"a {type(series).__name__} is a frame, not an array")
    if not isinstance(series, list | tuple) and _array(series, "y").ndim == 0:
        raise InputError(f"the input is {_describe(series)}, not {TAKEN}")
    if isinstance(series, list) and not (series and all(map(_is_number, series))):
        parts = [part if isinstance(part, tuple) else (None, part) for part in series]
    else:
        parts = _rows(series if isinstance(series, tuple) else (None, series))
    if not parts:
        raise InputError("there are no series")
    read = [_read(part, i) for i, part in enumerate(parts)]
    return Panel(to_objects(range(len(read))), _of_one_type([t for t, _ in read]), [y for _, y in read])


TAKEN = "a frame of pandas or polars, an array or list of numbers, a list of these, or a tuple (t, y) or (t, y, mask)"
"""What series may be given as."""


def is_frame(data: Any) -> bool:
    """Whether this is a frame, if only a lazy one of polars, which minds being asked for its columns."""
    return hasattr(data, "collect") or hasattr(data, "columns")


def _describe(x: Any) -> str:
    """What a thing that is no array is."""
    if x is None:
        return "None"
    if isinstance(x, str):
        return f"text ({x if len(x) <= 40 else x[:39] + '…'!r})"
    if isinstance(x, numbers.Real):
        return f"a single number ({x})"
    return "an array without a dimension" if hasattr(x, "ndim") else f"a {type(x).__name__}"


def _of_one_type(stamps: list[np.ndarray]) -> list[np.ndarray]:
    """Stamps of N series, as floats if any are."""
    dates = stamps[0].dtype.kind == "M"
    for i, x in enumerate(stamps):
        if (x.dtype.kind == "M") != dates:
            first, other = ("dates", "numbers") if dates else ("numbers", "dates")
            raise InputError(f"t of series {i} holds {other}, and t of series 0 holds {first}: give all of one kind")
    if len({x.dtype for x in stamps}) == 1:
        return stamps
    floats = [x.astype(np.float64, copy=False) for x in stamps]
    for i, x in enumerate(floats):
        if (x[1:] <= x[:-1]).any():
            raise InputError(f"t of series {i} is too large for floats, which the times of other series are")
    return floats


def _is_number(x: Any) -> bool:
    return x is None or isinstance(x, numbers.Real)


def _rows(part: tuple) -> list[tuple]:
    """A tuple of arrays [N, T] as N tuples of arrays [T]; one of arrays [T] as it is."""
    _check_length(part)
    y = _array(part[1], "y")
    if y.ndim != 2:
        return [part]
    t, *mask = [None if x is None else _array(x, name) for x, name in zip(part[::2], ("t", "mask"))]
    try:
        t, *mask = ([None] * len(y) if x is None else np.broadcast_to(x, y.shape) for x in (t, *mask))
    except ValueError as error:
        shapes = " and ".join(str(np.shape(x)) for x in part if x is not None)
        raise InputError(f"arrays of the shapes {shapes} do not fit each other") from error
    return list(zip(t, y, *mask))


def _check_length(part: tuple) -> None:
    if len(part) not in (2, 3):
        raise InputError(f"a tuple must be (t, y) or (t, y, mask), and has {len(part)} items")


def _array(x: Any, name: str) -> np.ndarray:
    """An array of whatever is one, or can be made one."""
    if np.ma.is_masked(x) and not name.startswith("y"):
        raise InputError(f"{name} is masked; only values can be")
    try:
        return x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    except (TypeError, ValueError) as error:  # lists of lists of different lengths
        raise InputError(f"{name} is not an array of numbers") from error


def _read(part: tuple, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Stamps and values of series i."""
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
            raise InputError(f"{name} of series {i} must have 1 dimension, and has {x.ndim}")
        if len(x) != len(y):
            raise InputError(f"{name} of series {i} has {len(x)} points, and y has {len(y)}")

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
        refuse_fall(*stamps[falls[0] : falls[0] + 2], falls[0] + 1, source)
    return stamps, values[kept]


def _index_times(index: pd.Index, i: int) -> np.ndarray:
    """The times in the index of series i."""
    if isinstance(index, pd.DatetimeIndex) and index.tz is None:
        return index.to_numpy()
    if pd.api.types.is_numeric_dtype(index.dtype) and not pd.api.types.is_bool_dtype(index.dtype):
        return index.to_numpy()
    if isinstance(index, pd.DatetimeIndex):
        raise InputError(
            f"the index of series {i} has a time zone ({index.tz}), which only frames keep: give a frame with columns "
            "unique_id, ds and y"
        )
    held = f" ({index[0]!r})" if len(index) else ""
    raise InputError(
        f"the index of series {i} holds neither dates (datetime64) nor numbers{held}: give (t, y), or call "
        "reset_index(drop=True) for times 0, 1, 2, ..."
    )


def _source(name: str, i: int, rows: np.ndarray) -> Source:
    """An array of series i, of which some rows were taken."""
    return Source(f"{name} of series {i}", lambda row: f"row {rows[row]}")


def _to_bool(mask: np.ndarray, i: int) -> np.ndarray:
    if mask.dtype.kind != "b" and (mask.dtype.kind not in "iuf" or not np.isin(mask, (0, 1)).all()):
        raise InputError(f"mask of series {i} must be True where y is observed and False elsewhere")
    return mask.astype(bool)


def _rises(t: np.ndarray) -> bool:
    """Whether these are times from first to last, without padding."""
    return t.dtype.kind in "iufM" and bool((t[1:] > t[:-1]).all()) and (t.dtype.kind != "f" or np.isfinite(t).all())


def to_objects(items: Sequence[Any]) -> np.ndarray:
    """A 1-D array of objects, also where these are tuples."""
    out = np.empty(len(items), object)
    for i, item in enumerate(items):
        out[i] = item
    return out


def to_values(x: np.ndarray, source: Source) -> np.ndarray:
    """Values as float64, NaN where missing; what is no number is refused."""
    if x.dtype.kind in "UO":
        _refuse_objects(x, source)
    elif x.dtype.kind not in "iuf" and x.dtype.name != "bfloat16":  # which NumPy counts among the void types
        source.refuse(f"holds {KINDS.get(x.dtype.kind, x.dtype.name)}, not numbers,", 0)
    if x.dtype.kind == "O":
        x = np.where(pd.isna(x), np.nan, x)
    values = x.astype(np.float64, copy=False)  # never written to
    infinite = np.isinf(values)
    if infinite.any():
        source.refuse("is infinite", infinite.argmax())
    return values


KINDS = {"b": "booleans", "c": "complex numbers", "M": "dates", "m": "durations"}
"""What to call an array by its kind of dtype."""


def _refuse_objects(x: np.ndarray, source: Source) -> None:
    """Raises if there is anything but numbers and missing values among objects."""
    is_text = np.fromiter((isinstance(v, str) for v in x), bool, len(x))
    if is_text.any():
        # Of a column of text, the text that keeps it from being a column of numbers.
        unread = is_text & pd.isna(pd.to_numeric(np.where(is_text, x, None), errors="coerce"))
        row = (unread if unread.any() else is_text).argmax()
        source.refuse(f"holds text: {str(x[row])!r}", row)
    for row, v in enumerate(x):
        if isinstance(v, bool) or not (isinstance(v, numbers.Real) or v is None or v is pd.NA):
            source.refuse(f"holds a {type(v).__name__}, not a number,", row)


def to_stamps(x: np.ndarray, source: Source) -> np.ndarray:
    """Stamps as int64, float64 or datetime64[ns]; what is no time, and what has none, is refused."""
    kind = x.dtype.kind
    if kind not in "iufM":
        held = "text" if kind == "U" else KINDS.get(kind, f"a {type(x[0]).__name__}")
        source.refuse(f"holds {held}, not dates (datetime64) or numbers,", 0)
    missing = pd.isna(x)
    if missing.any():
        source.refuse("is missing", missing.argmax())
    if kind == "f":
        if np.isinf(x).any():
            source.refuse("is infinite", np.isinf(x).argmax())
        return x.astype(np.float64, copy=False)
    dtype = np.dtype("datetime64[ns]" if kind == "M" else np.int64)
    if x.dtype == dtype:
        return x
    stamps = x.astype(dtype)
    outside = stamps.astype(x.dtype) != x if kind == "M" else (stamps < 0) != (x < 0)
    if outside.any():
        row = outside.argmax()
        source.refuse(f"is out of range ({x[row]})", row)
    return stamps


def refuse_fall(before: Any, stamp: Any, row: int, source: Source, zone: Zone = None) -> NoReturn:
    """Raises the error that a stamp is not after the one before it."""
    if before != stamp:
        source.refuse("goes back", row, ": sort the rows of each series by time")
    if isinstance(stamp, np.datetime64):
        stamp = pd.Timestamp(stamp, tz="UTC").tz_convert(zone)
    source.refuse(f"has {stamp} for the second time", row)
