"""Frames of answers, read back: which models there are, and what each says of a series."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import NarwhalsError

from fimjax.errors import InputError
from fimjax.frames.panel import Zone
from fimjax.frames.tables import CUTOFF, read_frame

QUANTILE = re.compile(r"(.+)-(lo|hi|q)-(\d+(?:\.\d+)?(?:e-\d+)?)")
ANOMALY = re.compile(r"(.+)-anomaly")


@dataclasses.dataclass
class Model:
    """Which columns of the answers are a model's."""

    name: str
    point: str | None = None
    quantiles: dict[float, str] = dataclasses.field(default_factory=dict)
    """By per cent, without the median; `lo-80` is at 10 and `hi-80` at 90."""
    anomaly: str | None = None

    @property
    def bands(self) -> dict[float, tuple[str, str]]:
        """Lower and upper bound by the interval's per cent, the widest first."""
        low = sorted(q for q in self.quantiles if q < 50 and mirror(q) in self.quantiles)
        return {per_cent(100 - 2 * q): (self.quantiles[q], self.quantiles[mirror(q)]) for q in low}

    @property
    def single(self) -> list[str]:
        """Quantiles that have no counterpart on the other side of the median."""
        return [name for q, name in sorted(self.quantiles.items()) if mirror(q) not in self.quantiles]

    @property
    def columns(self) -> list[str]:
        return [name for name in (self.point, *self.quantiles.values(), self.anomaly) if name is not None]

    def keep_bands(self, levels: Collection[float]) -> None:
        """Forgets all quantiles but the bounds of some intervals."""
        kept = {name for level, bounds in self.bands.items() if level in levels for name in bounds}
        self.quantiles = {q: name for q, name in self.quantiles.items() if name in kept}


def per_cent(x: float, decimals: int = 10) -> float:
    """Without the noise of binary fractions, to be compared; columns are named with up to 10 decimals."""
    return round(float(x), decimals)


def quantile(x: float) -> float:
    """A quantile in per cent, to be compared: a bound of an interval has a decimal more than the interval."""
    return per_cent(x, 11)


def mirror(q: float) -> float:
    """The quantile as far on the other side of the median."""
    return quantile(100 - q)


@dataclasses.dataclass(frozen=True)
class Window:
    """Answers for one series, in a backtest those after one cut-off."""

    stamps: np.ndarray  # [T], strictly rising
    columns: dict[str, np.ndarray]  # [T] each, NaN = missing
    cutoff: np.generic | None = None


def open_answers(answers: Any, id_col: str, time_col: str) -> nw.DataFrame:
    """A frame of answers that has ids and times."""
    try:
        frame = nw.from_native(answers, eager_only=True)
    except (TypeError, NarwhalsError) as error:
        fault = "names a column twice" if isinstance(error, NarwhalsError) else "is not a frame of pandas or polars"
        fault = "must be read first: collect() it" if hasattr(answers, "collect") else fault
        raise InputError(f"answers: this {type(answers).__name__} {fault}") from error
    for name in (id_col, time_col):
        if name not in frame.columns:
            raise InputError(f"answers: there is no column {name!r}, only {', '.join(map(repr, frame.columns))}")
    return frame


def find_models(frame: nw.DataFrame, taken: Sequence[str]) -> dict[str, Model]:
    """The models whose answers a frame has, by name and in the order of its columns.

    Args:
        taken: columns that are no model's. Others are not either if they hold anything but numbers.
    """
    models: dict[str, Model] = {}
    model_of = lambda name: models.setdefault(name, Model(name))
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
        raise InputError(f"answers: no column is a model's, of {', '.join(map(repr, frame.columns))}")
    return models


def read_windows(
    frame: nw.DataFrame, columns: Sequence[str], id_col: str, time_col: str, dates: bool, zone: Zone
) -> dict[Any, list[Window]]:
    """The answers for each series by its id, those of a backtest apart by cut-off.

    Args:
        frame: answers, in any order.
        columns: what to read besides ids and times.
        dates: whether the stamps of the series are dates, as those of the answers must be then.
        zone: their time zone; with one, the stamps of the answers must have one too.
    """
    if frame.is_empty():
        return {}
    series = lambda name, values, dtype: nw.new_series(name, values, dtype, backend=frame.implementation)
    for name in filter(ANOMALY.fullmatch, columns):
        # Booleans, or objects where some are missing.
        flags = [float(x is not None and x == 1) for x in frame[name].to_list()]
        frame = frame.with_columns(series(name, flags, nw.Float64))
    # Statistical models give infinite intervals where they know nothing.
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
    panels = {name: read(frame, time_col, name) for name in columns}
    first = panels[columns[0]]
    row_of = {label: row for row, label in reversed(list(enumerate(labels)))}
    rows = [row_of[label] for label in first.ids]
    cutoffs = [x[0] for x in read(frame[rows], CUTOFF, columns[0]).stamps] if has_cutoffs else [None] * len(rows)
    windows: dict[Any, list[Window]] = {}
    for i, row in enumerate(rows):
        values = {name: panel.values[i] for name, panel in panels.items()}
        windows.setdefault(ids[row], []).append(Window(first.stamps[i], values, cutoffs[i]))
    return windows


def _spell_apart(ids: Iterable[Any]) -> dict[Any, str]:
    """Ids as text, each as another: 1 is not '1'."""
    names: dict[str, Any] = {}
    for id in dict.fromkeys(ids):
        name = str(id)
        while name in names:
            name += f" ({type(id).__name__})"
        names[name] = id
    return {id: name for name, id in names.items()}


def _read(rows: nw.DataFrame, id_col: str, time_col: str, target_col: str, dates: bool, zone: Zone) -> Any:
    """One column of the answers as a panel, with stamps such as the series have."""
    try:
        panel, kind = read_frame(rows.to_native(), id_col=id_col, time_col=time_col, target_col=target_col)
    except InputError as error:
        raise InputError(f"answers: {error}") from error
    if (panel.stamps[0].dtype.kind == "M") != dates:
        there, wanted = ("numbers", "dates") if dates else ("dates", "numbers")
        raise InputError(f"answers: column {time_col!r} holds {there}, and the times of the series are {wanted}")
    if (kind.zone is None) != (zone is None):
        there, wanted = ("no time zone", "one") if zone is not None else ("a time zone", "none")
        raise InputError(f"answers: column {time_col!r} has {there}, and the times of the series have {wanted}")
    return panel
