"""Long frames of pandas and polars: read and checked, and built again with the same types."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from fimjax.errors import InputError
from fimjax.frames.calendars import Zone
from fimjax.frames.columns import Source, refuse_unsorted, to_objects, to_stamps, to_values

ID, TIME, TARGET = "unique_id", "ds", "y"
"""Default names of the columns, as in StatsForecast."""

CUTOFF = "cutoff"
"""The column with the last timestamp before the forecast of a backtest."""


@dataclass(frozen=True, eq=False)
class FrameSchema:
    """Library, column names and types of a frame, to build predictions of the same kind."""

    id_col: str
    time_col: str
    target_col: str
    zone: Zone
    """The time zone of the time column."""
    ids: np.ndarray = field(repr=False)  # [B], objects in order of first appearance
    id_column: nw.Series = field(repr=False)
    """The B ids in their original type."""
    time_column: nw.Series = field(repr=False)
    """The first timestamp in its original type."""

    @property
    def is_pandas(self) -> bool:
        return self.id_column.implementation.is_pandas()

    def check_stamps(self, stamps: np.ndarray) -> None:
        """Refuses timestamps that the time column cannot hold, such as hours in a column of dates."""
        raw = _to_numpy(self.time_column)
        lost = stamps.astype(raw.dtype).astype(stamps.dtype) != stamps
        # Float times of 32 bits are rounded, as the input was.
        if lost.any() and raw.dtype.kind != "f":
            first = pd.Timestamp(stamps[lost][0]) if raw.dtype.kind == "M" else stamps[lost][0]
            holds = self.time_column.to_native().dtype
            raise InputError(f"column {self.time_col!r} holds {holds}, which cannot be {first}")

    def with_floats(self) -> "FrameSchema":
        """The same schema with a time column of float64, because times between whole numbers are not whole."""
        return replace(self, time_column=self.time_column.cast(nw.Float64))

    def build(self, columns: dict[str, np.ndarray]) -> Any:
        """Builds a frame from arrays of equal length.

        Args:
            columns: arrays by name, in order. The id column holds ids of the frame, the time column and `cutoff` hold
                timestamps as in a Panel; these get their original types. Other columns are booleans or float64.

        Returns:
            A frame of pandas (with a RangeIndex) or polars.
        """
        native = {name: self._column(name, np.asarray(x)) for name, x in columns.items()}
        return pd.DataFrame(native) if self.is_pandas else nw.from_dict(native).to_native()

    def _column(self, name: str, x: np.ndarray) -> Any:
        """One column of the new frame."""
        if name == self.id_col:
            rows = pd.Index(self.ids, dtype=object, tupleize_cols=False).get_indexer(x.astype(object))
            if (rows < 0).any():
                raise InputError(f"there is no series {x[(rows < 0).argmax()]!r}")
            column = self.id_column[rows]
            return column.to_native().reset_index(drop=True) if self.is_pandas else column
        if name in (self.time_col, CUTOFF):
            self.check_stamps(x)
            return self._pandas_stamps(x) if self.is_pandas else self._polars_stamps(name, x)
        x = x if x.dtype == bool else x.astype(np.float64)
        return pd.Series(x) if self.is_pandas else nw.new_series(name, x, backend=self.id_column.implementation)

    def _pandas_stamps(self, stamps: np.ndarray) -> pd.Series:
        column, dtype = pd.Series(stamps), self.time_column.to_native().dtype
        if self.zone is not None:
            column = column.dt.tz_localize("UTC")
        return column.dt.date if pd.api.types.is_object_dtype(dtype) else column.astype(dtype)

    def _polars_stamps(self, name: str, stamps: np.ndarray) -> nw.Series:
        column = nw.new_series(name, stamps, backend=self.id_column.implementation)
        if self.zone is not None:
            column = column.dt.replace_time_zone("UTC").dt.convert_time_zone(str(self.zone))
        return column.cast(self.time_column.dtype)


@dataclass(frozen=True, eq=False)
class ArraySchema:
    """Series that came as arrays: their ids are 0, 1, 2, ..., and predictions are frames of pandas."""

    ids: np.ndarray = field(repr=False)  # [B], objects
    id_col: str = ID
    time_col: str = TIME
    target_col: str = TARGET
    zone: None = None

    def with_floats(self) -> "ArraySchema":
        """The same: a new column can hold any numbers."""
        return self

    def check_stamps(self, stamps: np.ndarray) -> None:
        """Accepts all timestamps."""

    def build(self, columns: dict[str, np.ndarray]) -> pd.DataFrame:
        """Builds a frame from arrays of equal length."""
        return pd.DataFrame(columns)


Schema = FrameSchema | ArraySchema


def read_frame(
    df: Any,
    id_col: str = ID,
    time_col: str = TIME,
    target_col: str = TARGET,
    row_name: Callable[[int], str] = lambda row: f"row {row}",
) -> tuple[FrameSchema, list[np.ndarray], list[np.ndarray]]:
    """Reads a long frame with one row per point. Series may be interleaved; the rows of each must be sorted by time.

    Args:
        df: a frame of pandas or polars.
        id_col: the column that says which series a row belongs to.
        time_col: dates, dates with times (also with a time zone), or numbers.
        target_col: numbers; missing ones may be null, NaN, or have no row.
        row_name: how error messages name a row.

    Returns:
        The schema, and the timestamps and values of each series as in a Panel.

    Raises:
        InputError: what is wrong, with the series and the row where that is known.
    """
    ids, times, target = _columns(df, (id_col, time_col, target_col))
    null = ids.is_null().to_numpy()
    if null.any():
        raise InputError(f"column {id_col!r} is missing in {row_name(int(null.argmax()))}")
    place = lambda row: f"{row_name(row)} (series {_id_at(ids, row)!r})"
    stamps = _read_stamps(times, Source(f"column {time_col!r}", place))
    values = _read_values(target, Source(f"column {target_col!r}", place))

    codes, first_rows, names = _factorize(ids)
    rows = None if (codes[1:] >= codes[:-1]).all() else np.argsort(codes, kind="stable")
    if rows is not None:
        codes, stamps, values = codes[rows], stamps[rows], values[rows]
    zone = _zone(times)
    falls = np.flatnonzero((stamps[1:] <= stamps[:-1]) & (codes[1:] == codes[:-1])) + 1
    if len(falls):
        fall = falls[0 if rows is None else rows[falls].argmin()]
        row = fall if rows is None else rows[fall]
        refuse_unsorted(stamps[fall - 1], stamps[fall], row, Source(f"column {time_col!r}", place), zone)
    cuts = np.searchsorted(codes, np.arange(1, len(names)))
    schema = FrameSchema(id_col, time_col, target_col, zone, names, ids[first_rows], times.head(1))
    return schema, np.split(stamps, cuts), np.split(values, cuts)


def read_times(df: Any, id_col: str, time_col: str) -> dict[Any, tuple[np.ndarray | pd.DatetimeIndex, np.ndarray]]:
    """The times of each id in a frame (dates with their zone), and their rows."""
    ids, times = _columns(df, (id_col, time_col))
    stamps = _read_stamps(times, Source(f"column {time_col!r}", lambda row: f"row {row} (series {_id_at(ids, row)!r})"))
    codes, _, names = _factorize(ids)
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    if stamps.dtype.kind == "M":
        stamps = pd.DatetimeIndex(stamps, tz=None if _zone(times) is None else "UTC")
    return {name: (stamps[of_series], of_series) for name, of_series in zip(names, rows)}


def _id_at(ids: nw.Series, row: int) -> Any:
    """The id in a row as users write it: 7, not np.int64(7)."""
    return ids[row].item() if isinstance(ids[row], np.generic) else ids[row]


def _columns(df: Any, names: tuple[str, ...]) -> list[nw.Series]:
    """Some columns of a frame, which must have rows."""
    if len(set(names)) < len(names):
        raise InputError(f"id, time and target must be different columns, not {', '.join(map(repr, names))}")
    try:
        # pandas allows several columns of one name; narwhals does not.
        there = list(df.columns) if isinstance(df, pd.DataFrame) else nw.from_native(df, eager_only=True).columns
    except TypeError as error:
        hint = ": call collect() first" if hasattr(df, "collect") else ", not a frame of pandas or polars"
        raise InputError(f"the input is a {type(df).__name__}{hint}") from error
    for name in names:
        if there.count(name) > 1:
            raise InputError(f"the frame has column {name!r} {there.count(name)} times")
        if name not in there:
            in_index = isinstance(df, pd.DataFrame) and name in df.index.names
            hint = "; it is in the index: call reset_index()" if in_index else ""
            raise InputError(f"the frame has no column {name!r}, only {', '.join(map(repr, there))}{hint}")
    frame = nw.from_native(df[list(names)] if isinstance(df, pd.DataFrame) else df, eager_only=True)
    if not (frame.implementation.is_pandas() or frame.implementation.is_polars()):
        raise InputError(f"the input is a {type(df).__name__} of {frame.implementation.value}, not pandas or polars")
    if frame.is_empty():
        raise InputError("the frame has no rows")
    return [frame[name] for name in names]


def _read_stamps(times: nw.Series, source: Source) -> np.ndarray:
    """Timestamps as in a Panel, in the order of the rows."""
    null = times.is_null().to_numpy()
    if null.any():
        source.refuse("is missing", null.argmax())
    dtype, name = times.dtype, times.name
    if times.implementation.is_pandas():
        parse = f": convert it with df[{name!r}] = pandas.to_datetime(df[{name!r}])"
    else:
        parse = f": convert it with df.with_columns(polars.col({name!r}).str.to_datetime())"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        source.refuse(f"holds text ({str(times[0])!r}), not dates or numbers,", 0, parse)
    if isinstance(times.to_native().dtype, pd.PeriodDtype):
        source.refuse("holds periods, not dates,", 0, f": convert it with df[{name!r}].dt.to_timestamp()")
    if dtype in (nw.Int128, nw.UInt128, nw.Decimal):
        source.refuse(f"holds {dtype}, not numbers of 64 bits,", 0)
    x = _to_numpy(times)
    if x.dtype == object and dtype == nw.Object:
        source.refuse(f"holds objects ({type(x[0]).__name__}), not dates or numbers,", 0, parse)
    return to_stamps(x, source)


def _to_numpy(times: nw.Series) -> np.ndarray:
    """Timestamps in the resolution of their column; those with a time zone in UTC."""
    native = times.to_native()
    if isinstance(native.dtype, pd.DatetimeTZDtype):
        # narwhals does the same, but only for zones that have a name.
        return native.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    x = times.to_numpy()
    is_object = x.dtype == object and times.implementation.is_pandas()
    is_date = is_object and pd.api.types.infer_dtype(x, skipna=False) == "date"
    return x.astype("datetime64[D]") if is_date else x


def _zone(times: nw.Series) -> Zone:
    """The time zone of a column."""
    dtype = times.to_native().dtype
    return dtype.tz if isinstance(dtype, pd.DatetimeTZDtype) else getattr(times.dtype, "time_zone", None)


def _read_values(target: nw.Series, source: Source) -> np.ndarray:
    """Values as in a Panel, in the order of the rows."""
    dtype = target.dtype
    if dtype in (nw.Categorical, nw.Enum, nw.Decimal):
        held = "decimals" if dtype == nw.Decimal else "categories"
        source.refuse(f"holds {held}, not numbers,", 0, ": convert it to floats")
    if dtype == nw.Boolean:
        source.refuse("holds booleans, not numbers,", 0, ": convert it to floats")
    return to_values((target.cast(nw.Float64) if dtype.is_numeric() else target).to_numpy(), source)


def _factorize(ids: nw.Series) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The number of each row's series [rows], the first row of each series [B], and the ids [B]."""
    if ids.dtype.is_nested() or (ids.dtype == nw.Object and not ids.implementation.is_pandas()):
        raise InputError(f"column {ids.name!r} holds {ids.dtype}; ids may be text, numbers or categories")
    # Converting text is slow, so only the first row of each run of equal ids is converted.
    changes = (ids.head(len(ids) - 1) != ids.tail(len(ids) - 1)).to_numpy()
    heads = np.flatnonzero(np.append(True, changes))
    names = to_objects(ids[heads].to_list())
    null = pd.isna(names)
    if null.any():
        raise InputError(f"column {ids.name!r} is missing in row {heads[null.argmax()]}")
    try:
        codes, unique = pd.factorize(names)
    except TypeError as error:
        raise InputError(f"column {ids.name!r} holds objects that cannot be ids: {error}") from error
    first_rows = heads[np.unique(codes, return_index=True)[1]]
    return np.repeat(codes, np.diff(np.append(heads, len(ids)))), first_rows, unique
