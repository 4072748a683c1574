"""Frames of predictions, read back for plots: which models they are of, and what each predicts for a series."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import NarwhalsError

from fimjax.errors import InputError
from fimjax.frames.calendars import Zone
from fimjax.frames.tables import CUTOFF, read_frame

QUANTILE = re.compile(r"(.+)-(lo|hi|q)-(\d+(?:\.\d+)?(?:e-\d+)?)")
ANOMALY = re.compile(r"(.+)-anomaly")


@dataclasses.dataclass
class ModelColumns:
    """The columns of one model."""

    name: str
    point: str | None = None
    quantiles: dict[float, str] = dataclasses.field(default_factory=dict)
    """Columns by quantile in per cent, without the median; `lo-80` is at 10 and `hi-80` at 90."""
    anomaly: str | None = None

    @property
    def bands(self) -> dict[float, tuple[str, str]]:
        """The lower and upper column of each interval, by its per cent, the widest first."""
        low = sorted(q for q in self.quantiles if q < 50 and mirror(q) in self.quantiles)
        return {per_cent(100 - 2 * q): (self.quantiles[q], self.quantiles[mirror(q)]) for q in low}

    @property
    def single(self) -> list[str]:
        """Quantiles without a counterpart on the other side of the median."""
        return [name for q, name in sorted(self.quantiles.items()) if mirror(q) not in self.quantiles]

    @property
    def columns(self) -> list[str]:
        """All columns of the model."""
        return [name for name in (self.point, *self.quantiles.values(), self.anomaly) if name is not None]

    def keep_bands(self, levels: Collection[float]) -> None:
        """Removes all quantiles except the bounds of some intervals."""
        kept = {name for level, bounds in self.bands.items() if level in levels for name in bounds}
        self.quantiles = {q: name for q, name in self.quantiles.items() if name in kept}


def per_cent(x: float, decimals: int = 10) -> float:
    """A per cent rounded for comparisons; column names have up to 10 decimals."""
    return round(float(x), decimals)


def quantile(x: float) -> float:
    """A quantile in per cent, rounded for comparisons; it has a decimal more than the interval that it bounds."""
    return per_cent(x, 11)


def mirror(q: float) -> float:
    """The quantile on the other side of the median, at the same distance."""
    return quantile(100 - q)


@dataclasses.dataclass(frozen=True)
class PredictedWindow:
    """Predictions for one series; in a backtest, those after one cut-off."""

    stamps: np.ndarray  # [T], strictly increasing
    columns: dict[str, np.ndarray]  # [T] each, NaN = missing
    cutoff: np.generic | None = None


class _Column(NamedTuple):
    """One column of predictions by series."""

    ids: np.ndarray
    stamps: list[np.ndarray]
    values: list[np.ndarray]


def open_predictions(predictions: Any, id_col: str, time_col: str) -> nw.DataFrame:
    """Opens a frame of predictions, which must have ids and times."""
    try:
        frame = nw.from_native(predictions, eager_only=True)
    except (TypeError, NarwhalsError) as error:
        fault = (
            "has two columns of one name" if isinstance(error, NarwhalsError) else "is not a frame of pandas or polars"
        )
        fault = "must be collected: call collect() first" if hasattr(predictions, "collect") else fault
        raise InputError(f"predictions: this {type(predictions).__name__} {fault}") from error
    for name in (id_col, time_col):
        if name not in frame.columns:
            raise InputError(f"predictions: there is no column {name!r}, only {', '.join(map(repr, frame.columns))}")
    return frame


def find_models(frame: nw.DataFrame, taken: Sequence[str]) -> dict[str, ModelColumns]:
    """The models in a frame of predictions, by name and in the order of its columns.

    Args:
        taken: columns that belong to no model, besides all columns without numbers.
    """
    models: dict[str, ModelColumns] = {}
    model_of = lambda name: models.setdefault(name, ModelColumns(name))
    for column, dtype in frame.schema.items():
        if column in taken or not isinstance(column, str):
            continue
        if match := ANOMALY.fullmatch(column):
            model_of(match[1]).anomaly = column
        elif not dtype.is_numeric():
            continue
        elif match := QUANTILE.fullmatch(column):
            number = float(match[3])
            q = {"q": number, "lo": 50 - number / 2, "hi": 50 + number / 2}[match[2]]
            model_of(match[1]).quantiles[quantile(q)] = column
        else:
            model_of(column).point = column
    for model in models.values():
        median = model.quantiles.pop(50.0, None)
        model.point = model.point or median
    if not models:
        raise InputError(f"predictions: none of the columns holds predictions: {', '.join(map(repr, frame.columns))}")
    return models


def read_windows(
    frame: nw.DataFrame, columns: Sequence[str], id_col: str, time_col: str, dates: bool, zone: Zone
) -> dict[Any, list[PredictedWindow]]:
    """The predictions for each series by its id; those of a backtest are split by cut-off.

    Args:
        frame: predictions, in any order.
        columns: the columns to read besides ids and times.
        dates: whether the times of the series are dates; those of the predictions must be of the same kind.
        zone: the time zone of the series; if there is one, the predictions must have one too.
    """
    if frame.is_empty():
        return {}
    series = lambda name, values, dtype: nw.new_series(name, values, dtype, backend=frame.implementation)
    for name in filter(ANOMALY.fullmatch, columns):
        # Booleans, or objects if some are missing.
        flags = [float(x is not None and x == 1) for x in frame[name].to_list()]
        frame = frame.with_columns(series(name, flags, nw.Float64))
    # Some statistical models give infinite intervals.
    floats = [nw.col(name) for name in columns if frame.schema[name].is_float()]
    frame = frame.with_columns(*[nw.when(column.is_finite()).then(column) for column in floats]).sort(time_col)
    ids = frame[id_col].to_list()
    names = _spell_apart(ids)
    labels = [names[id] for id in ids]
    has_cutoffs = CUTOFF in frame.columns
    if has_cutoffs:
        labels = [f"{label} after {cutoff}" for label, cutoff in zip(labels, frame[CUTOFF].to_list())]
    frame = frame.with_columns(series(id_col, labels, nw.String))
    read = lambda rows, times, name: _read(rows, id_col, times, name, dates, zone)
    found = {name: read(frame, time_col, name) for name in columns}
    first = found[columns[0]]
    row_of = {label: row for row, label in reversed(list(enumerate(labels)))}
    rows = [row_of[label] for label in first.ids]
    cutoffs = [x[0] for x in read(frame[rows], CUTOFF, columns[0]).stamps] if has_cutoffs else [None] * len(rows)
    windows: dict[Any, list[PredictedWindow]] = {}
    for i, row in enumerate(rows):
        values = {name: column.values[i] for name, column in found.items()}
        windows.setdefault(ids[row], []).append(PredictedWindow(first.stamps[i], values, cutoffs[i]))
    return windows


def _spell_apart(ids: Iterable[Any]) -> dict[Any, str]:
    """A different text for each id: 1 is not '1'."""
    names: dict[str, Any] = {}
    for id in dict.fromkeys(ids):
        name = str(id)
        while name in names:
            name += f" ({type(id).__name__})"
        names[name] = id
    return {id: name for name, id in names.items()}


def _read(rows: nw.DataFrame, id_col: str, time_col: str, target_col: str, dates: bool, zone: Zone) -> _Column:
    """One column of the predictions, with times of the same kind as those of the series."""
    try:
        schema, stamps, values = read_frame(rows.to_native(), id_col, time_col, target_col)
    except InputError as error:
        raise InputError(f"predictions: {error}") from error
    if (stamps[0].dtype.kind == "M") != dates:
        there, wanted = ("numbers", "dates") if dates else ("dates", "numbers")
        raise InputError(f"predictions: column {time_col!r} holds {there}, but the times of the series are {wanted}")
    if (schema.zone is None) != (zone is None):
        there, wanted = ("no time zone", "one") if zone is not None else ("a time zone", "none")
        raise InputError(f"predictions: column {time_col!r} has {there}, but the times of the series have {wanted}")
    return _Column(schema.ids, stamps, values)
