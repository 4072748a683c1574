"""The public class: a trained model that forecasts and interpolates frames of series."""

from __future__ import annotations

import functools
import hashlib
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, Unpack

import jax
import numpy as np

from fimjax.checkpoints.fingerprint import fingerprint
from fimjax.checkpoints.pretrained import load_pretrained, save_pretrained
from fimjax.config import Config
from fimjax.errors import InputError, PretrainedError
from fimjax.frames.columns import check_count
from fimjax.frames.frequency import Freq
from fimjax.frames.panel import Panel, insert_missing_timestamps, read_panel
from fimjax.frames.query_times import read_query_times
from fimjax.frames.tables import CUTOFF, ID, TARGET, TIME
from fimjax.inference.backtest import Split, all_splits, last_splits, requests_before
from fimjax.inference.batching import Network, use_compile_cache
from fimjax.inference.calibration import MIN_HISTORY, widen, width_factor
from fimjax.inference.predict import forecast_windows, inference_config
from fimjax.inference.quantiles import Bounds, Level, Limits, OutputSpec, read_bounds, read_output_spec
from fimjax.inference.request import SeriesRequest, check_distance, make_request, requests_at
from fimjax.inference.router import predict_series
from fimjax.messages import list_series, warn_user
from fimjax.models import Params, count_params, forecasts, model_name
from fimjax.nn.quantile_head import median_index
from fimjax.plotting.plot import plot
from fimjax.weights import DEFAULT, split_sources

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from typing_extensions import TypeVar

    FrameT = TypeVar("FrameT", pd.DataFrame, pl.DataFrame, default=pd.DataFrame)
    """Frames in, frames of the same library out; frames of pandas for arrays."""
    Arrays: TypeAlias = np.ndarray | jax.Array | pd.Series | Sequence[Any] | Panel
    """Series that are not frames: values, tuples (t, y) or (t, y, mask), lists of these."""


class SeriesOptions(TypedDict, total=False):
    """Keywords that all methods share."""

    season_length: int | None
    """Points in a season, 1 for none; by default the usual season of the frequency."""
    id_col: str
    """The column with the ids of the series."""
    time_col: str
    """The column with times."""
    target_col: str
    """The column with values."""


class BoundedOptions(SeriesOptions, total=False):
    """Keywords of methods that predict values."""

    nonnegative: bool
    """Whether values are never negative; all predictions are clipped at 0."""
    bounds: Limits | None
    """A lower and an upper bound of all values, None for no bound; all predictions are clipped."""


class PredictOptions(BoundedOptions, total=False):
    """Keywords of methods that predict quantiles."""

    level: Level
    """Central intervals in per cent, for columns such as `FIM-lo-80` and `FIM-hi-80`."""
    quantiles: Sequence[float] | None
    """Quantile levels in (0, 1), for columns such as `FIM-q-10`."""


DEFAULTS: dict[str, Any] = {
    "level": None,
    "quantiles": None,
    "season_length": None,
    "nonnegative": False,
    "bounds": None,
    "id_col": ID,
    "time_col": TIME,
    "target_col": TARGET,
}
"""Defaults of all shared keywords, in the order in which `help` shows them."""


Method = typing.TypeVar("Method", bound=Callable[..., Any])


def _with_options(options: type) -> Callable[[Method], Method]:
    """Shows the keywords of a TypedDict in a method's signature, and refuses all others."""

    def decorate(method: Method) -> Method:
        plain = inspect.signature(method)
        own = [p for p in plain.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        types = {name: getattr(kind, "__forward_arg__", kind) for name, kind in options.__annotations__.items()}
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
            for name, default in DEFAULTS.items()
            if name in types
        ]
        signature = plain.replace(parameters=own + shared)

        @functools.wraps(method)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name not in signature.parameters:
                    known = ", ".join(list(signature.parameters)[1:])
                    raise TypeError(f"{method.__name__}() has no argument {name!r}; its arguments are {known}")
            return method(*arguments, **keywords)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        return typing.cast(Method, checked)

    return decorate


class _Call(NamedTuple):
    """The checked arguments of a method."""

    panel: Panel
    spec: OutputSpec
    bounds: Bounds


class Forecaster:
    """Forecasts, interpolates and checks series that it has never seen, with a model trained on synthetic series.

    All methods take a long frame of pandas or polars with a column of ids, one of times (dates or numbers, increasing
    in each series) and one of values; or values [T] or [B, T], a list of such, or tuples (t, y) or (t, y, mask).
    Missing values need no preparation: leave them NaN or null, or drop the row. Answers are frames of the same library
    (of pandas for arrays), with the median in a column of the model's name. The methods share these arguments:

    Args:
        freq: the time between two points: an alias of pandas for dates, or a number; inferred if it is not given.
        level: central intervals in per cent, for columns such as `FIM-lo-80` and `FIM-hi-80`.
        quantiles: levels in (0, 1), for columns such as `FIM-q-10`. Quantiles between the trained levels lie on
            straight lines on normal probability paper, and those beyond on its continuation.
        season_length: points in a season, 1 for none; by default the usual season of the frequency.
        nonnegative, bounds: known bounds of the values; all predictions are clipped to them. Give them for amounts:
            a FIM that knows the floor of a seasonal series expects it to grow in proportion to its level.
        id_col, time_col, target_col: names of the columns.

    A series without any observation gets NaN, and a warning with its id.
    """

    trained_on: tuple[str, ...] = ()
    """Benchmark data sets seen in training: none, because all training is on synthetic series."""

    progress: Callable[[int, int], None] | None = None
    """Called with the number of series (or backtest windows) that are done, and with their total."""

    source: str | None = None
    """Where the weights are from: the name of a bundled model, or a folder."""

    others: tuple[Forecaster, ...] = ()
    """Models whose forecasts are averaged with this one's. Between observations, the first FIM interpolates alone."""

    plot = staticmethod(plot)

    def __init__(
        self, config: Config, params: Params, about: dict[str, Any] | None = None, name: str | None = None
    ) -> None:
        if not forecasts(config.model):
            raise PretrainedError(f"a {type(config.model).__name__} does not forecast; give the run of a FIM")
        use_compile_cache()
        self.config, self.params, self.about = config, params, about or {}
        self.name = model_name(config.model) if name is None else name

    @classmethod
    def from_pretrained(cls, source: str | Path | None = None) -> Forecaster:
        """Loads a trained model.

        Args:
            source: the name of a bundled model, a folder that `save_pretrained` wrote, or that of a training run (its
                best checkpoint is taken); several joined by + are averaged: "fim-small+nbeats-small". The default is
                the bundled model fim-small.
        """
        model, *others = (cls._load(each) for each in split_sources(source))
        return model.joined_by(*others) if others else model

    @classmethod
    def _load(cls, source: str | Path | None) -> Forecaster:
        model = cls(*load_pretrained(source))
        model.source = DEFAULT if source is None else str(source)
        return model

    def joined_by(self, *others: Forecaster) -> Forecaster:
        """A forecaster whose quantiles are the means of this one's and the others'."""
        levels = self.config.model.quantile_levels
        for other in others:
            if other.config.model.quantile_levels != levels:
                raise PretrainedError(f"{self.name} and {other.name} cannot be averaged: their quantile levels differ")
        joined = Forecaster(self.config, self.params, self.about, "+".join(each.name for each in (self, *others)))
        joined.source = self.source
        joined.others = (*self.others, *(member for other in others for member in other.members))
        return joined

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes config.json and model.safetensors."""
        self._require_one("be saved together")
        save_pretrained(folder, self.config, self.params, self.about)

    def __repr__(self) -> str:
        members = self.members
        levels = self.config.model.quantile_levels
        parts = [
            self.name,
            f"weights={'+'.join(each.source or 'in memory' for each in members)!r}",
            f"parameters={sum(count_params(each.params) for each in members):,}",
            f"quantile_levels={levels}" if levels else "no quantiles",
            "trained on synthetic series",
        ]
        return f"Forecaster({', '.join(parts)})"

    @property
    def version(self) -> str:
        """A fingerprint of the weights, of how series are read, and of fimjax's version."""
        parts = [fingerprint(*inference_config(each.config), each.params) for each in self.members]
        return parts[0] if len(parts) == 1 else hashlib.sha256("+".join(parts).encode()).hexdigest()[: len(parts[0])]

    @property
    def members(self) -> tuple[Forecaster, ...]:
        """All models whose forecasts are averaged."""
        return self, *self.others

    @property
    def params(self) -> Params:
        """The model's parameters, as arrays of NumPy or JAX."""
        return self._params

    @params.setter
    def params(self, params: Params) -> None:
        self._params, self._device_params = params, jax.device_put(params)  # once, not with every call

    def apply(self, params: Params, *arrays: jax.Array) -> jax.Array:
        """The forecast as a pure function, to be jitted, vmapped and differentiated; see `forecast_windows`."""
        self._require_one("be applied together")
        return forecast_windows(inference_config(self.config), params, *arrays)

    @_with_options(PredictOptions)
    def forecast(
        self,
        df: FrameT | Arrays,
        h: int,
        freq: Freq | None = None,
        *,
        calibrate: bool = False,
        **options: Unpack[PredictOptions],
    ) -> FrameT:
        """Forecasts the next h steps of every series, counted from its last row.

        Args:
            calibrate: forecast the last h rows first, and widen or narrow the intervals of all series by their common
                error. Useful for many similar series; takes twice the time.

        Returns:
            Ids, times, median, and the columns of `level` or `quantiles`; series in order of first appearance.
        """
        h = check_count("h", h)
        call = self._read(df, freq, options)
        panel = call.panel
        check_distance(panel.ids[0], h)
        stamps = panel.frequency.stamps_after(panel.ends, h)  # [B, h]
        panel.schema.check_stamps(stamps)
        factor = self._width_factor(call, h) if calibrate else 1.0
        columns = self._predict(call, requests_at(panel, stamps, call.bounds.floor), len(panel), factor)
        return panel.build(np.repeat(panel.ids, h), stamps.ravel(), columns)

    @_with_options(PredictOptions)
    def interpolate(self, df: FrameT | Arrays, freq: Freq | None = None, **options: Unpack[PredictOptions]) -> FrameT:
        """Fills missing values and smooths observed ones, at every row and every missing timestamp of regular series.

        Rows before the first and after the last observation are forecast. Intervals are those of a measurement at that
        time, noise included.

        Returns:
            Ids, times, the given values (NaN where missing), median, and the columns of `level` or `quantiles`.
        """
        call = self._read(df, freq, options, lambda panel: [panel.schema.target_col])
        panel, positions = insert_missing_timestamps(call.panel)
        season, floor = call.panel.season, call.bounds.floor
        rows = zip(panel.ids, positions, panel.values)
        requests = (make_request(id, times, values, times, season, floor) for id, times, values in rows)
        columns = self._predict(call, requests, len(panel))
        ids = np.repeat(panel.ids, [len(stamps) for stamps in panel.stamps])
        columns = {panel.schema.target_col: np.concatenate(panel.values), **columns}
        return panel.build(ids, np.concatenate(panel.stamps), columns)

    @_with_options(PredictOptions)
    def query(
        self, df: FrameT | Arrays, times: Any, freq: Freq | None = None, **options: Unpack[PredictOptions]
    ) -> FrameT:
        """Predicts series at any times, on and off their grid: between, before and after observations.

        Args:
            times: numbers or dates for all series alike, or a frame with the columns of ids and times.

        Returns:
            Ids, times, median, and the columns of `level` or `quantiles`; rows as in the frame of times, or series by
            series.
        """
        call = self._read(df, freq, options)
        return self._predict_at(
            call.panel, times, call.bounds.floor, lambda requests, n: self._predict(call, requests, n)
        )

    @_with_options(SeriesOptions)
    def derivative(
        self, df: FrameT | Arrays, times: Any, freq: Freq | None = None, **options: Unpack[SeriesOptions]
    ) -> FrameT:
        """The derivative of the median by time at any times, computed by differentiating the network.

        It is per unit of time if times are numbers, and per step of the frequency if they are dates.

        Args:
            times: as of `query`.

        Returns:
            Ids, times, and the derivative in the column of the model's name; rows as of `query`.
        """
        panel = self._read(df, freq, options).panel
        unit = 1.0 if panel.has_dates else float(panel.frequency.step)

        def slopes(requests: Iterable[SeriesRequest], total: int) -> dict[str, np.ndarray]:
            networks = self._networks(slopes=True)
            column = networks[0].outputs + median_index(self.config.model.quantile_levels)
            found = self._run(networks, requests, total)
            return {self.name: np.concatenate([x[:, column] for x in found]) / unit}

        return self._predict_at(panel, times, -np.inf, slopes)

    @_with_options(PredictOptions)
    def cross_validation(
        self,
        df: FrameT | Arrays,
        h: int,
        freq: Freq | None = None,
        *,
        n_windows: int = 1,
        step_size: int | None = None,
        **options: Unpack[PredictOptions],
    ) -> FrameT:
        """Forecasts the last rows of every series from the rows before them.

        Args:
            h: rows in each window.
            n_windows: how many windows; the last one ends with the series.
            step_size: rows from one window to the next, h by default.

        Returns:
            Ids, times, `cutoff` (the last time before the forecast), values, median, and the columns of `level` or
            `quantiles`. Windows without a row before them are left out, with a warning that names the series.
        """
        h, n_windows = check_count("h", h), check_count("n_windows", n_windows)
        step = h if step_size is None else check_count("step_size", step_size)
        call = self._read(df, freq, options, lambda panel: [CUTOFF, panel.schema.target_col])
        lengths = [len(stamps) for stamps in call.panel.stamps]
        short = [id for id, n in zip(call.panel.ids, lengths) if n <= h + step * (n_windows - 1)]
        if short:
            warn_user(f"windows without a row before them are left out: {list_series(short)}")
        return self._backtest(call, last_splits(lengths, h, n_windows, step))

    @_with_options(BoundedOptions)
    def detect_anomalies(
        self,
        df: FrameT | Arrays,
        level: float = 99,
        freq: Freq | None = None,
        *,
        h: int | None = None,
        n_windows: int | None = None,
        **options: Unpack[BoundedOptions],
    ) -> FrameT:
        """Marks values outside the interval that is forecast from the rows before them, h rows at a time.

        Args:
            level: the interval in per cent; one in a hundred normal values lies outside 99.
            h: rows that are forecast at once, a season by default.
            n_windows: how many times h rows are checked, counted from the end; by default all but the first rows,
                which are needed as history.

        Returns:
            Ids, times, `cutoff`, values, median, interval, and `FIM-anomaly`: True if a value is outside.
        """
        self._require_quantiles("detect anomalies")
        anomaly = f"{self.name}-anomaly"
        columns = lambda panel: [CUTOFF, panel.schema.target_col, anomaly]
        call = self._read(df, freq, {**options, "level": level}, columns)
        if len(call.spec.levels) != 2:
            raise InputError(f"level={level!r}: give one number")
        windows, season = self.config.windows, call.panel.season
        h = min(season, windows.max_steps) if h is None else check_count("h", h)
        lengths = [len(stamps) for stamps in call.panel.stamps]
        if n_windows is None:
            splits = all_splits(lengths, h, max(windows.min_history, min(season, windows.max_steps)))
        else:
            splits = last_splits(lengths, h, check_count("n_windows", n_windows), h)
        checked = {split.series for split in splits}
        short = [id for i, id in enumerate(call.panel.ids) if i not in checked]
        if short:
            warn_user(f"too short to detect anomalies: {list_series(short)}")
        return self._backtest(call, splits, anomaly)

    def _read(
        self,
        df: Any,
        freq: Freq | None,
        options: Any,
        extra_columns: Callable[[Panel], list[str]] = lambda panel: [],
    ) -> _Call:
        """Reads and checks the series and the shared options, cheap checks first.

        Args:
            extra_columns: columns of the answer besides ids, times and predictions; no name may occur twice.
        """
        given = {**DEFAULTS, **options}
        spec = read_output_spec(given["level"], given["quantiles"])
        bounds = read_bounds(given["nonnegative"], given["bounds"])
        names = (given[name] for name in ("id_col", "time_col", "target_col"))
        panel = read_panel(df, freq, given["season_length"], *names)
        panel.season  # noqa: B018  checks freq and season_length
        columns = [panel.schema.id_col, panel.schema.time_col, *extra_columns(panel), self.name]
        columns += [f"{self.name}-{suffix}" for suffix in spec.suffixes]
        for name in columns:
            if columns.count(name) > 1:
                raise InputError(f"the answer would have two columns {name!r}: rename the one in the frame")
        return _Call(panel, spec, bounds)

    def _predict(
        self, call: _Call, requests: Iterable[SeriesRequest], total: int, factor: float = 1.0
    ) -> dict[str, np.ndarray]:
        """The predicted columns, concatenated series by series; intervals are widened by a factor."""
        levels = self.config.model.quantile_levels
        parts = []
        for quantiles in self._run(self._networks(), requests, total):  # [rows, L]
            quantiles = quantiles if factor == 1.0 else widen(quantiles, levels, factor)
            columns = {self.name: quantiles[:, median_index(levels)]}
            columns |= call.spec.columns(self.name, quantiles, levels)
            parts.append({name: call.bounds.clip(x) for name, x in columns.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _predict_at(
        self,
        panel: Panel,
        times: Any,
        floor: float,
        predict: Callable[[Iterable[SeriesRequest], int], dict[str, np.ndarray]],
    ) -> Any:
        """A frame with predictions at the caller's times."""
        query_times, order = read_query_times(times, panel)
        stamps = np.concatenate(query_times)
        if not len(stamps):
            raise InputError("times: give at least one")
        panel = panel.with_float_times() if stamps.dtype.kind == "f" else panel
        panel.schema.check_stamps(stamps)
        columns = predict(requests_at(panel, query_times, floor), len(panel))
        ids = np.repeat(panel.ids, [len(x) for x in query_times])
        return panel.build(ids[order], stamps[order], {name: x[order] for name, x in columns.items()})

    def _backtest(self, call: _Call, splits: list[Split], anomaly: str | None = None) -> Any:
        """A frame with the forecasts of all splits, and with the anomalies if their column has a name."""
        if not splits:
            raise InputError("no series has enough rows for a window")
        panel = call.panel
        columns = self._predict(call, requests_before(panel, splits, self._reach, call.bounds.floor), len(splits))
        counts = [s.h for s in splits]
        cutoffs = np.array([panel.stamps[s.series][s.cut - 1] for s in splits])
        y = np.concatenate([s.rows(panel.values) for s in splits])
        if anomaly is not None:
            low, high = (columns[f"{self.name}-{suffix}"] for suffix in call.spec.suffixes)
            columns[anomaly] = (y < low) | (y > high)
        return panel.build(
            np.repeat(panel.ids[[s.series for s in splits]], counts),
            np.concatenate([s.rows(panel.stamps) for s in splits]),
            {CUTOFF: np.repeat(cutoffs, counts), panel.schema.target_col: y, **columns},
        )

    def _width_factor(self, call: _Call, h: int) -> float:
        """The factor of calibrated intervals, from the last h rows of all series."""
        self._require_quantiles("calibrate")
        values = call.panel.values
        splits = last_splits([len(x) for x in values], h, 1, h)
        splits = [s for s in splits if np.isfinite(values[s.series][: s.cut]).sum() >= MIN_HISTORY]
        if not splits:
            warn_user(
                f"intervals are not calibrated: no series has {MIN_HISTORY} observations before its last {h} rows"
            )
            return 1.0
        requests = requests_before(call.panel, splits, self._reach, call.bounds.floor)
        predictions = np.concatenate(list(predict_series(self._networks(), requests)))
        observed = np.concatenate([s.rows(values) for s in splits])
        return width_factor(predictions, observed, self.config.model.quantile_levels, len(splits))

    def _run(self, networks: list[Network], requests: Iterable[SeriesRequest], total: int) -> Iterator[np.ndarray]:
        """Predictions [rows, columns] in chunks of series, with reports of progress."""
        progress = self.progress
        report = None if progress is None else lambda done: progress(done, total)
        return predict_series(networks, requests, report)

    def _networks(self, slopes: bool = False) -> list[Network]:
        return [Network(each.config, each._device_params, slopes) for each in self.members]

    @property
    def _reach(self) -> int:
        """How many steps back the models read at most."""
        settings = [each.config.windows for each in self.members]
        return max((windows.count - 1) * windows.max_steps for windows in settings)

    def _require_one(self, purpose: str) -> None:
        if self.others:
            raise PretrainedError(f"{self.name}: averaged models cannot {purpose}; take them one by one")

    def _require_quantiles(self, purpose: str) -> None:
        if not self.config.model.quantile_levels:
            raise PretrainedError(f"{self.name} cannot {purpose}: the model has no quantiles")
