"""The public class: a trained model that forecasts and interpolates frames of series."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import jax
import numpy as np

from fimjax.checkpoints.fingerprint import fingerprint
from fimjax.checkpoints.pretrained import load_pretrained, save_pretrained
from fimjax.config import Config
from fimjax.errors import InputError, PretrainedError
from fimjax.frames.columns import check_count
from fimjax.frames.frequency import Freq
from fimjax.frames.panel import Panel, insert_missing_timestamps
from fimjax.frames.tables import CUTOFF
from fimjax.inference.backtest import all_splits, last_splits
from fimjax.inference.batching import Network, use_compile_cache
from fimjax.inference.options import BoundedOptions, Call, PredictOptions, SeriesOptions, read_call, with_options
from fimjax.inference.predict import forecast_windows, inference_config
from fimjax.inference.predictor import Predictor, build_at
from fimjax.inference.request import check_distance, make_request, requests_at
from fimjax.messages import list_series, warn_user
from fimjax.models import Params, count_params, forecasts, model_name
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


class Forecaster:
    """Forecasts, interpolates and checks series that it has never seen, with a model trained on synthetic series.

    All methods take a long frame of pandas or polars with a column of ids, one of times (dates or numbers, increasing
    in each series) and one of values; or values [T] or [B, T], a list of such, or tuples (t, y) or (t, y, mask).
    Missing values need no preparation: leave them NaN or null, or drop the row. Predictions are frames of the same
    library (of pandas for arrays), with the median in a column of the model's name. The methods share these arguments:

    Args:
        freq: the time between two points: a pandas alias for dates, or a number; inferred if it is not given.
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

    @with_options(PredictOptions)
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
            h: steps to forecast.
            df, freq and all keywords that are not described here: see `Forecaster`.
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
        predictor, factor = self._predictor(), 1.0
        if calibrate:
            self._require_quantiles("calibrate")
            factor = predictor.width_factor(call, h)
        columns = predictor.predict(call, requests_at(panel, stamps, call.bounds.floor), len(panel), factor)
        return panel.build(np.repeat(panel.ids, h), stamps.ravel(), columns)

    @with_options(PredictOptions)
    def interpolate(self, df: FrameT | Arrays, freq: Freq | None = None, **options: Unpack[PredictOptions]) -> FrameT:
        """Fills missing values and smooths observed ones, at every row and every missing timestamp of regular series.

        Rows before the first and after the last observation are forecast. Intervals are those of a measurement at that
        time, noise included.

        Args:
            df, freq and all keywords that are not described here: see `Forecaster`.

        Returns:
            Ids, times, the given values (NaN where missing), median, and the columns of `level` or `quantiles`.
        """
        call = self._read(df, freq, options, lambda panel: [panel.schema.target_col])
        panel, positions = insert_missing_timestamps(call.panel)
        season, floor = call.panel.season, call.bounds.floor
        rows = zip(panel.ids, positions, panel.values)
        requests = (make_request(id, times, values, times, season, floor) for id, times, values in rows)
        columns = self._predictor().predict(call, requests, len(panel))
        ids = np.repeat(panel.ids, [len(stamps) for stamps in panel.stamps])
        columns = {panel.schema.target_col: np.concatenate(panel.values), **columns}
        return panel.build(ids, np.concatenate(panel.stamps), columns)

    @with_options(PredictOptions)
    def query(
        self, df: FrameT | Arrays, times: Any, freq: Freq | None = None, **options: Unpack[PredictOptions]
    ) -> FrameT:
        """Predicts series at any times, on and off their grid: between, before and after observations.

        Args:
            times: numbers or dates for all series alike, or a frame with the columns of ids and times.
            df, freq and all keywords that are not described here: see `Forecaster`.

        Returns:
            Ids, times, median, and the columns of `level` or `quantiles`; rows as in the frame of times, or series by
            series.
        """
        call = self._read(df, freq, options)
        predict = functools.partial(self._predictor().predict, call)
        return build_at(call.panel, times, call.bounds.floor, predict)

    @with_options(SeriesOptions)
    def derivative(
        self, df: FrameT | Arrays, times: Any, freq: Freq | None = None, **options: Unpack[SeriesOptions]
    ) -> FrameT:
        """The derivative of the median by time at any times, computed by differentiating the network.

        It is per unit of time if times are numbers, and per step of the frequency if they are dates.

        Args:
            times: as of `query`.
            df, freq and all keywords that are not described here: see `Forecaster`.

        Returns:
            Ids, times, and the derivative in the column of the model's name; rows as of `query`.
        """
        panel = self._read(df, freq, options).panel
        unit = 1.0 if panel.has_dates else float(panel.frequency.step)

        slopes = self._predictor(slopes=True).slopes
        return build_at(panel, times, -np.inf, lambda requests, n: {self.name: slopes(requests, n) / unit})

    @with_options(PredictOptions)
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
            df, freq and all keywords that are not described here: see `Forecaster`.

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
        return self._predictor().backtest(call, last_splits(lengths, h, n_windows, step))

    @with_options(BoundedOptions)
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
            df, freq and all keywords that are not described here: see `Forecaster`.

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
        return self._predictor().backtest(call, splits, anomaly)

    def _predictor(self, slopes: bool = False) -> Predictor:
        """The networks, with derivatives by time if `slopes`."""
        networks = tuple(Network(each.config, each._device_params, slopes) for each in self.members)
        return Predictor(self.name, networks, self.progress)

    def _read(
        self,
        df: Any,
        freq: Freq | None,
        options: Any,
        extra_columns: Callable[[Panel], list[str]] = lambda panel: [],
    ) -> Call:
        return read_call(df, freq, options, self.name, extra_columns)

    def _require_one(self, purpose: str) -> None:
        if self.others:
            raise PretrainedError(f"{self.name}: averaged models cannot {purpose}; take them one by one")

    def _require_quantiles(self, purpose: str) -> None:
        if not self.config.model.quantile_levels:
            raise PretrainedError(f"{self.name} cannot {purpose}: the model has no quantiles")
