"""A trained FIM as a forecaster of frames."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from fimjax.checkpoints.fingerprint import fingerprint
from fimjax.checkpoints.pretrained import load_pretrained, save_pretrained
from fimjax.config import Config
from fimjax.errors import InputError, PretrainedError
from fimjax.frames.gaps import insert_missing_timestamps
from fimjax.frames.inputs import Inputs, read_inputs
from fimjax.frames.panel import check_count
from fimjax.frames.query_times import read_query_times
from fimjax.frames.tables import CUTOFF
from fimjax.inference.backtest import Split, all_splits, known_before, last_splits
from fimjax.inference.batching import Asked, check_distance, in_steps, predict_series
from fimjax.inference.calibration import LEAST_HISTORY, widen, width_factor
from fimjax.inference.compile_cache import use_compile_cache
from fimjax.inference.engine import Network
from fimjax.inference.output import Bounds, OutputSpec, read_bounds, read_output_spec
from fimjax.inference.predict import Params, forecast_windows, reading
from fimjax.inference.views import View, read_views
from fimjax.messages import listed, warn_user
from fimjax.models import forecasts, model_name
from fimjax.nn.quantile_head import head_size, median_index
from fimjax.weights import split_sources

Level = Sequence[float] | float | None
Range = tuple[float | None, float | None] | None


class Forecaster:
    """Forecasts, fills and smooths series that it has never seen with a model trained on synthetic ones.

    All methods take a long frame of pandas or polars with a column of ids, one of times (dates or numbers, rising in
    each series) and one of values; or values [T] or [N, T], a list of such, or tuples (t, y) or (t, y, mask). Missing
    values may be NaN, null, or left out. They give back a frame of the same kind (of pandas for arrays), with the
    median in a column of the model's name, and have these arguments in common:

    Args:
        freq: the time between two points, as an alias of pandas for dates or a number; inferred where it can be.
        level: central intervals in per cent, for columns such as `FIM-lo-80` and `FIM-hi-80`.
        quantiles: levels in (0, 1), for columns such as `FIM-q-10`. Levels between those that the model was trained on
            lie on a line between them on normal probability paper, and beyond them on its continuation.
        season_length: points in a season, 1 for none; by default that of the frequency.
        nonnegative, bounds: what is known of the values; all answers are brought within. Say so of amounts: a FIM that
            knows the floor of a seasonal series expects it to grow by shares of itself.
        id_col, time_col, target_col: names of the columns.

    A series without any observation gets NaN, and a warning with its id.
    """

    trained_on: tuple[str, ...] = ()
    """Benchmark data sets seen in training: none, for all training is on synthetic series."""

    progress: Callable[[int, int], None] | None = None
    """Called with the series (or backtest windows) done and those in all, as chunks of them are finished."""

    views: tuple[View, ...] = (View(),)
    """How each series is shown to the model; answers of several views are averaged."""

    others: tuple["Forecaster", ...] = ()
    """Models whose forecasts are averaged with this one's; between observations the first FIM answers alone."""

    def __init__(self, config: Config, params: Params, about: dict | None = None, name: str | None = None):
        if not forecasts(config.model):
            raise PretrainedError(f"a {type(config.model).__name__} does not forecast; give the run of a FIM")
        use_compile_cache()
        self.config, self.params, self.about = config, params, about or {}
        self.name = model_name(config.model) if name is None else name

    @classmethod
    def from_pretrained(
        cls, source: str | Path | None = None, *, views: str | Sequence[str] = ("plain",)
    ) -> "Forecaster":
        """Bundled weights by name, a folder that `save_pretrained` made, or the best checkpoint of a training run.

        Args:
            source: one of these, or several joined by +, whose forecasts are averaged: "fim-small+nbeats-small".
            views: forecasts are averaged over these, each of which costs as much as the first: "plain", "flipped"
                (upside down), "long" and "longer" (windows of 1.5 and 2 horizons, which reach further back).
        """
        chosen = read_views(views)
        model, *others = (cls(*load_pretrained(each)) for each in split_sources(source))
        for each in (model, *others):
            each.views = chosen
        return model.joined_by(*others) if others else model

    def joined_by(self, *others: "Forecaster") -> "Forecaster":
        """A forecaster whose quantiles are the means of this one's and the others'."""
        levels = self.config.model.quantile_levels
        for other in others:
            if other.config.model.quantile_levels != levels:
                raise PretrainedError(f"{self.name} and {other.name} cannot be averaged: their quantile levels differ")
        joined = Forecaster(self.config, self.params, self.about, "+".join(each.name for each in (self, *others)))
        joined.views = self.views
        joined.others = (*self.others, *(member for other in others for member in other.members))
        return joined

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes config.json and model.safetensors."""
        self._require_one("saved")
        save_pretrained(folder, self.config, self.params, self.about)

    @property
    def version(self) -> str:
        """Tells these weights, read by this version of fimjax, from others."""
        parts = [fingerprint(each.config, each.params, each.views) for each in self.members]
        return parts[0] if len(parts) == 1 else hashlib.sha256("+".join(parts).encode()).hexdigest()[: len(parts[0])]

    @property
    def members(self) -> "tuple[Forecaster, ...]":
        """All models whose forecasts are averaged."""
        return self, *self.others

    def apply(self, params: Params, *arrays: jax.Array) -> jax.Array:
        """The forecast as a pure function, to be jitted, vmapped and differentiated; see `forecast_windows`."""
        self._require_one("a pure function")
        return forecast_windows(reading(self.config), params, *arrays)

    def forecast(
        self,
        df: Any,
        h: int,
        freq: str | int | float | None = None,
        *,
        level: Level = None,
        quantiles: Sequence[float] | None = None,
        season_length: int | None = None,
        nonnegative: bool = False,
        bounds: Range = None,
        calibrate: bool = False,
        id_col: str = "unique_id",
        time_col: str = "ds",
        target_col: str = "y",
    ) -> Any:
        """Forecasts the next h steps of every series, counted from its last row.

        Args:
            calibrate: forecast the last h rows first, and widen or narrow the intervals of all series by how far off
                they were together: for many series of one kind; takes twice the time.

        Returns:
            ids, times, median, and the columns asked for; series in the order of their first appearance.
        """
        h = check_count("h", h)
        wanted, limits = read_output_spec(level, quantiles), read_bounds(nonnegative, bounds)
        inputs = read_inputs(df, freq, season_length, id_col, time_col, target_col)
        self._check_names(inputs, wanted)
        check_distance(inputs.panel.ids[0], h)
        stamps = inputs.frequency.stamps_after(inputs.ends, h)  # [N, h]
        inputs.kind.check_stamps(stamps)
        width = self._width(inputs, h, limits) if calibrate else 1.0
        columns = self._columns(inputs, in_steps(inputs, stamps), len(inputs.panel), wanted, limits, width)
        return self._build(inputs, np.repeat(inputs.panel.ids, h), stamps.ravel(), columns)

    def interpolate(
        self,
        df: Any,
        freq: str | int | float | None = None,
        *,
        level: Level = None,
        quantiles: Sequence[float] | None = None,
        season_length: int | None = None,
        nonnegative: bool = False,
        bounds: Range = None,
        id_col: str = "unique_id",
        time_col: str = "ds",
        target_col: str = "y",
    ) -> Any:
        """Fills what is missing and smooths what is not, at every row and at every stamp that a regular series lacks.

        Between observations FIM-l interpolates; rows before the first and after the last are forecast. Intervals are
        those of a measurement at that time, noise included.

        Returns:
            ids, times, values as they are (NaN where there is none), median, and the columns asked for.
        """
        wanted, limits = read_output_spec(level, quantiles), read_bounds(nonnegative, bounds)
        inputs = read_inputs(df, freq, season_length, id_col, time_col, target_col)
        self._check_names(inputs, wanted, inputs.kind.target_col)
        filled = insert_missing_timestamps(inputs)
        asked = map(Asked, inputs.panel.ids, filled.positions, filled.values, filled.positions)
        columns = self._columns(inputs, asked, len(inputs.panel), wanted, limits)
        ids = np.repeat(inputs.panel.ids, [len(stamps) for stamps in filled.stamps])
        columns = {inputs.kind.target_col: np.concatenate(filled.values), **columns}
        return self._build(inputs, ids, np.concatenate(filled.stamps), columns)

    def query(
        self,
        df: Any,
        times: Any,
        freq: str | int | float | None = None,
        *,
        level: Level = None,
        quantiles: Sequence[float] | None = None,
        season_length: int | None = None,
        nonnegative: bool = False,
        bounds: Range = None,
        id_col: str = "unique_id",
        time_col: str = "ds",
        target_col: str = "y",
    ) -> Any:
        """The series at any times, on and off their grid: between observations, before the first, after the last.

        Args:
            times: numbers or dates for all series alike, or a frame with the columns of ids and times.

        Returns:
            ids, times, median, and the columns asked for; rows as in the frame of times, or series by series.
        """
        wanted, limits = read_output_spec(level, quantiles), read_bounds(nonnegative, bounds)
        inputs = read_inputs(df, freq, season_length, id_col, time_col, target_col)
        self._check_names(inputs, wanted)
        return self._at(inputs, times, lambda asked, n: self._columns(inputs, asked, n, wanted, limits))

    def derivative(
        self,
        df: Any,
        times: Any,
        freq: str | int | float | None = None,
        *,
        season_length: int | None = None,
        id_col: str = "unique_id",
        time_col: str = "ds",
        target_col: str = "y",
    ) -> Any:
        """How fast the median changes at any times, by differentiating the network: per unit of time where times are
        numbers, per step of the frequency where they are dates.

        Returns:
            ids, times, and the derivative in the column of the model's name; rows as of `query`.
        """
        inputs = read_inputs(df, freq, season_length, id_col, time_col, target_col)
        self._check_names(inputs, read_output_spec(None, None))
        median = head_size(self.config.model.quantile_levels) + median_index(self.config.model.quantile_levels)
        unit = 1.0 if inputs.panel.stamps[0].dtype.kind == "M" else float(inputs.frequency.step)

        def slopes(asked: Iterable[Asked], total: int) -> dict[str, np.ndarray]:
            found = self._answers(inputs, asked, total, slopes=True)
            return {self.name: np.concatenate([x[:, median] for x in found]) / unit}

        return self._at(inputs, times, slopes)

    def cross_validation(
        self,
        df: Any,
        h: int,
        freq: str | int | float | None = None,
        *,
        n_windows: int = 1,
        step_size: int | None = None,
        level: Level = None,
        quantiles: Sequence[float] | None = None,
        season_length: int | None = None,
        nonnegative: bool = False,
        bounds: Range = None,
        id_col: str = "unique_id",
        time_col: str = "ds",
        target_col: str = "y",
    ) -> Any:
        """Forecasts the last rows of every series from what came before them.

        Args:
            h: rows in each window.
            n_windows: how many windows; the last one ends with the series.
            step_size: rows from one window to the next, h by default.

        Returns:
            ids, times, `cutoff` (the last time that a forecast knew), values, median, and the columns asked for.
            Windows with nothing before them are left out, with a warning that names the series.
        """
        h, n_windows = check_count("h", h), check_count("n_windows", n_windows)
        step = h if step_size is None else check_count("step_size", step_size)
        wanted, limits = read_output_spec(level, quantiles), read_bounds(nonnegative, bounds)
        inputs = read_inputs(df, freq, season_length, id_col, time_col, target_col)
        lengths = [len(stamps) for stamps in inputs.panel.stamps]
        splits = last_splits(lengths, h, n_windows, step)
        short = [id for id, n in zip(inputs.panel.ids, lengths) if n <= h + step * (n_windows - 1)]
        if short:
            warn_user(f"windows with no row before them are left out in {listed(short)}")
        return self._backtest(inputs, splits, wanted, limits)

    def detect_anomalies(
        self,
        df: Any,
        level: float = 99,
        freq: str | int | float | None = None,
        *,
        h: int | None = None,
        n_windows: int | None = None,
        season_length: int | None = None,
        nonnegative: bool = False,
        bounds: Range = None,
        id_col: str = "unique_id",
        time_col: str = "ds",
        target_col: str = "y",
    ) -> Any:
        """Marks values outside the interval that is forecast from what came before them, h rows at a time.

        Args:
            level: the interval in per cent; one value in a hundred lies outside 99 though nothing is wrong with it.
            h: rows that are forecast at once, a season by default.
            n_windows: how many times h rows are judged, counted from the end; by default all but the first rows, which
                are needed as history.

        Returns:
            ids, times, `cutoff`, values, median, interval, and `FIM-anomaly`: True where a value is outside.
        """
        self._require_quantiles("that a value could lie outside of")
        wanted, limits = read_output_spec(level, None), read_bounds(nonnegative, bounds)
        if len(wanted.levels) != 2:
            raise InputError(f"level={level!r}: give one number")
        inputs = read_inputs(df, freq, season_length, id_col, time_col, target_col)
        prior = self.config.prior
        h = min(inputs.season, prior.max_window_steps) if h is None else check_count("h", h)
        lengths = [len(stamps) for stamps in inputs.panel.stamps]
        if n_windows is None:
            splits = all_splits(lengths, h, max(prior.min_context, min(inputs.season, prior.max_window_steps)))
        else:
            splits = last_splits(lengths, h, check_count("n_windows", n_windows), h)
        judged = {split.series for split in splits}
        short = [id for i, id in enumerate(inputs.panel.ids) if i not in judged]
        if short:
            warn_user(f"too short to be judged: {listed(short)}")
        return self._backtest(inputs, splits, wanted, limits, mark=True)

    def plot(self, df: Any, answers: Any = None, **options: Any) -> Any:
        """Draws series with what any of the methods said of them; see `fimjax.plotting.plot.plot`."""
        from fimjax.plotting.plot import plot

        return plot(df, answers, **options)

    @property
    def params(self) -> Params:
        """The model's parameters, as NumPy arrays or JAX's."""
        return self._params

    @params.setter
    def params(self, params: Params) -> None:
        self._params, self._device_params = params, jax.device_put(params)  # brought there once, not with every call

    def _backtest(
        self, inputs: Inputs, splits: list[Split], wanted: OutputSpec, limits: Bounds, mark: bool = False
    ) -> Any:
        """A frame with the forecasts of all splits."""
        if not splits:
            raise InputError("no series has rows enough for a window")
        ids, stamps, values = inputs.panel.ids, inputs.panel.stamps, inputs.panel.values
        anomaly = f"{self.name}-anomaly"
        self._check_names(inputs, wanted, CUTOFF, inputs.kind.target_col, *([anomaly] if mark else []))
        columns = self._columns(inputs, known_before(inputs, splits, self._reach), len(splits), wanted, limits)
        counts = [s.h for s in splits]
        cutoffs = np.array([stamps[s.series][s.cut - 1] for s in splits])
        y = np.concatenate([s.rows(values) for s in splits])
        if mark:
            low, high = (columns[f"{self.name}-{suffix}"] for suffix in wanted.suffixes)
            columns[anomaly] = (y < low) | (y > high)
        return self._build(
            inputs,
            np.repeat(ids[[s.series for s in splits]], counts),
            np.concatenate([s.rows(stamps) for s in splits]),
            {CUTOFF: np.repeat(cutoffs, counts), inputs.kind.target_col: y, **columns},
        )

    def _width(self, inputs: Inputs, h: int, limits: Bounds) -> float:
        """By what intervals are to be multiplied, as far as the last h rows tell."""
        self._require_quantiles("to calibrate")
        values = inputs.panel.values
        splits = last_splits([len(x) for x in values], h, 1, h)
        splits = [s for s in splits if np.isfinite(values[s.series][: s.cut]).sum() >= LEAST_HISTORY]
        if not splits:
            warn_user(f"nothing is calibrated: no series has {LEAST_HISTORY} observations before its last {h} rows")
            return 1.0
        known = known_before(inputs, splits, self._reach)
        answers = np.concatenate(list(predict_series(self._network(False), inputs.season, known, floor=limits.floor)))
        truth = np.concatenate([s.rows(values) for s in splits])
        return width_factor(answers, truth, self.config.model.quantile_levels, len(splits))

    @property
    def _reach(self) -> int:
        """How far back the models look at most, in steps."""
        priors = [each.config.prior for each in self.members]
        return max((prior.windows - 1) * prior.max_window_steps for prior in priors)

    def _at(self, inputs: Inputs, times: Any, tell: Callable[[Iterable[Asked], int], dict[str, np.ndarray]]) -> Any:
        """A frame with what `tell` says at times of the caller's choice."""
        moments, order = read_query_times(times, inputs)
        stamps = np.concatenate(moments)
        if not len(stamps):
            raise InputError("times: there are none")
        if stamps.dtype.kind == "f":
            inputs = inputs.with_float_times()
        inputs.kind.check_stamps(stamps)
        columns = tell(in_steps(inputs, moments), len(moments))
        ids = np.repeat(inputs.panel.ids, [len(x) for x in moments])
        return self._build(inputs, ids[order], stamps[order], {name: x[order] for name, x in columns.items()})

    def _build(self, inputs: Inputs, ids: np.ndarray, stamps: np.ndarray, columns: dict[str, np.ndarray]) -> Any:
        """A frame of the kind that came in."""
        return inputs.kind.build({inputs.kind.id_col: ids, inputs.kind.time_col: stamps, **columns})

    def _check_names(self, inputs: Inputs, wanted: OutputSpec, *others: str) -> None:
        """Refuses names of columns that would be those of two."""
        names = [inputs.kind.id_col, inputs.kind.time_col, *others, self.name]
        names += [f"{self.name}-{suffix}" for suffix in wanted.suffixes]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError(f"the answer would have two columns {twice[0]!r}: rename that of the frame")

    def _columns(
        self, inputs: Inputs, asked: Iterable[Asked], total: int, wanted: OutputSpec, limits: Bounds, width: float = 1.0
    ) -> dict[str, np.ndarray]:
        """The median and the columns asked for, one series after the other."""
        levels = self.config.model.quantile_levels
        parts = []
        for answers in self._answers(inputs, asked, total, floor=limits.floor):  # [rows, L]
            answers = answers if width == 1.0 else widen(answers, levels, width)
            columns = {self.name: answers[:, median_index(levels)], **wanted.columns(self.name, answers, levels)}
            parts.append({name: limits.clip(x) for name, x in columns.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _answers(
        self, inputs: Inputs, asked: Iterable[Asked], total: int, slopes: bool = False, floor: float = -np.inf
    ) -> Iterator[np.ndarray]:
        """What the model says of the series, a chunk of [rows, columns] after the other."""
        network = self._network(slopes)
        report = None if self.progress is None else lambda done: self.progress(done, total)
        return predict_series(network, inputs.season, asked, report, floor)

    def _network(self, slopes: bool) -> Network:
        first, *others = (Network(each.config, each._device_params, slopes, each.views) for each in self.members)
        return first._replace(others=tuple(others))

    def _require_one(self, what: str) -> None:
        if self.others:
            raise PretrainedError(f"{self.name}: models that are averaged are not {what} as one; take them one by one")

    def _require_quantiles(self, what: str) -> None:
        if not self.config.model.quantile_levels:
            raise PretrainedError(f"a model without quantiles knows no interval {what}")
