"""One column or array of a caller's data, checked and converted: timestamps, values, ids."""

import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from fimjax.errors import InputError
from fimjax.frames.calendars import Zone

KINDS = {"b": "booleans", "c": "complex numbers", "M": "dates", "m": "durations"}
"""What to call an array by its kind of dtype."""


@dataclass(frozen=True)
class Source:
    """Where an array was read from, so that an error can name the place."""

    name: str
    place: Callable[[int], str]
    """The name of a row."""

    def refuse(self, fault: str, row: int | np.integer, hint: str = "") -> NoReturn:
        """Raises the error that a row has a fault."""
        raise InputError(f"{self.name} {fault} in {self.place(int(row))}{hint}")


def is_number(value: Any) -> bool:
    """Whether a value is a real number of Python or NumPy, not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_count(name: str, value: Any) -> int:
    """An argument that must be a whole number of at least 1."""
    if not is_number(value) or not value >= 1 or value % 1:
        raise InputError(f"{name}={value!r}: must be a whole number of at least 1")
    return int(value)


def to_objects(items: Iterable[Any]) -> np.ndarray:
    """A 1-D array of objects, also where these are tuples."""
    items = list(items)
    out = np.empty(len(items), object)
    for i, item in enumerate(items):
        out[i] = item
    return out


def to_values(x: np.ndarray, source: Source) -> np.ndarray:
    """Values as float64, NaN where missing; anything that is not a number is refused."""
    if x.dtype.kind in "UO":
        _refuse_objects(x, source)
    elif x.dtype.kind not in "iuf" and x.dtype.name != "bfloat16":  # NumPy counts bfloat16 among the void types
        source.refuse(f"holds {KINDS.get(x.dtype.kind, x.dtype.name)}, not numbers,", 0)
    if x.dtype.kind == "O":
        x = np.where(pd.isna(x), np.nan, x)
    values = x.astype(np.float64, copy=False)  # never written to
    infinite = np.isinf(values)
    if infinite.any():
        source.refuse("is infinite", infinite.argmax())
    return values


def _refuse_objects(x: np.ndarray, source: Source) -> None:
    """Raises if objects include anything but numbers and missing values."""
    is_text = np.fromiter((isinstance(v, str) for v in x), bool, len(x))
    if is_text.any():
        # Name the text that keeps the column from being a column of numbers.
        unread = is_text & pd.isna(pd.to_numeric(np.where(is_text, x, np.array(None, object)), errors="coerce"))
        row = (unread if unread.any() else is_text).argmax()
        source.refuse(f"holds text: {str(x[row])!r}", row)
    for row, v in enumerate(x):
        if isinstance(v, bool) or not (isinstance(v, numbers.Real) or v is None or v is pd.NA):
            source.refuse(f"holds a {type(v).__name__}, not a number,", row)


def to_stamps(x: np.ndarray, source: Source) -> np.ndarray:
    """Timestamps as int64, float64 or datetime64[ns]; other types and missing ones are refused."""
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
    dtype: np.dtype[Any] = np.dtype("datetime64[ns]" if kind == "M" else np.int64)
    if x.dtype == dtype:
        return x
    stamps = x.astype(dtype)
    outside = stamps.astype(x.dtype) != x if kind == "M" else (stamps < 0) != (x < 0)
    if outside.any():
        row = outside.argmax()
        source.refuse(f"is out of range ({x[row]})", row)
    return stamps


def refuse_unsorted(before: Any, stamp: Any, row: int | np.integer, source: Source, zone: Zone = None) -> NoReturn:
    """Raises the error that a timestamp is not after the one before it."""
    if before != stamp:
        source.refuse("goes back", row, ": sort the rows of each series by time")
    if isinstance(stamp, np.datetime64):
        stamp = pd.Timestamp(stamp, tz="UTC").tz_convert(zone)
    source.refuse(f"repeats {stamp}", row)
