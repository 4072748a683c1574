"""A trained FIM as a forecaster of frames."""

import functools
import hashlib
from importlib import metadata
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from fimjax.config import Config, FIMConfig
from fimjax.forecasting.levels import at_levels
from fimjax.models import build_model
from fimjax.nn.head import median_index
from fimjax.nn.windows import split_windows
from fimjax.training.checkpoint import CheckpointError, load_params
from fimjax.training.losses import Params

BATCH = 256
"""Series that the model reads at a time."""


class Forecaster:
    """Forecasts series that it has never seen with a FIM trained on synthetic ones."""

    trained_on: tuple[str, ...] = ()
    """Benchmark data sets seen in training: none, for all training is on synthetic series."""

    def __init__(self, config: Config, params: Params, name: str = "FIM"):
        if not isinstance(config.model, FIMConfig):
            raise CheckpointError(f"a {type(config.model).__name__} does not forecast; give the run of a FIM")
        self.config, self.params, self.name = config, params, name

    @classmethod
    def from_pretrained(cls, run: Path | str) -> "Forecaster":
        """The best checkpoint of a training run."""
        return cls(*load_params(run))

    @property
    def version(self) -> str:
        """Tells these weights, read by this version of fimjax, from others."""
        prior = self.config.prior
        about = (metadata.version("fimjax"), self.config.model, prior.min_window_steps, prior.slots)
        digest = hashlib.sha256(repr(about).encode())
        for path, leaf in jax.tree_util.tree_leaves_with_path(self.params):
            digest.update(jax.tree_util.keystr(path).encode())
            digest.update(np.asarray(leaf).tobytes())
        return digest.hexdigest()[:16]

    def forecast(
        self, df: pd.DataFrame, h: int, *, freq: int = 1, season_length: int = 1, quantiles: tuple[float, ...] = ()
    ) -> pd.DataFrame:
        """Forecasts the next h steps of every series.

        Args:
            df: long format: unique_id, ds (whole numbers) and y; missing values may be NaN or left out.
            h: steps to forecast, after the last row of each series.
            freq: what ds grows by from one point to the next.
            season_length: points in a season, 1 = none or unknown.
            quantiles: levels in (0, 1).

        Returns:
            unique_id, ds, the median under the model's name, and a column such as `FIM-q-10` for each quantile; series
            in the order of their first appearance.
        """
        _check(df, h, freq, quantiles)
        codes, ids = pd.factorize(df["unique_id"])
        order = np.lexsort((df["ds"].to_numpy(), codes))
        times, values = df["ds"].to_numpy()[order], df["y"].to_numpy(np.float64)[order]
        stops = np.searchsorted(codes[order], np.arange(len(ids)), side="right")
        ends = times[stops - 1]
        series = [
            ((times[start:stop] - end) / freq, values[start:stop])
            for start, stop, end in zip(np.append(0, stops[:-1]), stops, ends)
        ]
        empty = [id for id, (_, y) in zip(ids, series) if not np.isfinite(y).any()]
        if empty:
            raise ValueError(f"series {empty[0]!r} has no observation")
        answers = self._forecast_series(series, h, season_length)  # [N, h, L]
        levels = self.config.model.quantile_levels
        out = pd.DataFrame(
            {
                "unique_id": np.repeat(np.asarray(ids), h),
                "ds": (ends[:, None] + freq * np.arange(1, h + 1)).ravel(),
                self.name: answers[..., median_index(levels)].ravel(),
            }
        )
        for level, column in zip(quantiles, np.moveaxis(at_levels(answers, levels, quantiles), -1, 0)):
            out[f"{self.name}-q-{level * 100:g}"] = column.ravel()
        return out

    def _forecast_series(self, series: list[tuple[np.ndarray, np.ndarray]], h: int, season: int) -> np.ndarray:
        """The model's own quantiles [N, h, L] of series of times (in steps, 0 the last row) and values."""
        observed = [(t[np.isfinite(y)], y[np.isfinite(y)]) for t, y in series]
        # Steps without an observation at the end of a series are part of what is unseen.
        gaps = np.array([-t[-1] for t, _ in observed])
        # A window is as long as what is asked for, or as the shortest window that the model was trained on.
        steps = np.maximum(np.ceil(gaps).astype(int) + h, self.config.prior.min_window_steps)
        points = (self.config.model.windows - 1) * int(steps.max())
        answers = []
        for first in range(0, len(observed), BATCH):
            group = slice(first, first + BATCH)
            times, values = (np.zeros((BATCH, points), np.float32) for _ in range(2))
            mask = np.zeros((BATCH, points), bool)
            for row, ((t, y), gap) in enumerate(zip(observed[group], gaps[group])):
                t, y = t[-points:] + gap, y[-points:]
                times[row, : len(t)], values[row, : len(y)], mask[row, : len(y)] = t, y, True
            queries = _pad(gaps[group, None] + np.arange(1, h + 1), 1.0).astype(np.float32)
            window_steps = _pad(steps[group], steps[first]).astype(np.int32)
            out = _forecast_windows(self.config, self.params, times, values, mask, window_steps, season, queries)
            answers.append(np.asarray(out)[: len(steps[group])])
        return np.concatenate(answers).astype(np.float64)


def _check(df: pd.DataFrame, h: int, freq: int, quantiles: tuple[float, ...]) -> None:
    """Refuses what cannot be forecast, in a sentence."""
    absent = [column for column in ("unique_id", "ds", "y") if column not in df.columns]
    if absent:
        raise ValueError(f"the frame has no column {absent[0]!r}")
    if df.empty:
        raise ValueError("the frame has no rows")
    if not pd.api.types.is_integer_dtype(df["ds"]):
        raise ValueError(f"column 'ds' holds {df['ds'].dtype}, not whole numbers")
    if h < 1 or freq < 1:
        raise ValueError(f"h={h} and freq={freq}: both must be at least 1")
    outside = [level for level in quantiles if not 0 < level < 1]
    if outside:
        raise ValueError(f"quantiles: {outside[0]} is not between 0 and 1")


def _pad(x: np.ndarray, value: float) -> np.ndarray:
    """Fills up the last batch, so that all have one shape and are compiled once."""
    return np.concatenate([x, np.full((BATCH - len(x), *x.shape[1:]), value)])


@functools.partial(jax.jit, static_argnums=0)
def _forecast_windows(
    config: Config,
    params: Params,
    times: jax.Array,
    values: jax.Array,
    mask: jax.Array,
    steps: jax.Array,
    season: int,
    query_times: jax.Array,
) -> jax.Array:
    """B series [B, N], whose last observation is at time 0, at times [B, Q] after it: [B, Q, L]."""
    batch = values.shape[0]
    windows = split_windows(
        times,
        values,
        mask,
        steps=steps,
        step=jnp.ones(batch),
        season=jnp.full(batch, season),
        windows=config.model.windows - 1,
        slots=config.prior.slots,
    )
    return build_model(config.model).apply({"params": params}, windows, query_times)
