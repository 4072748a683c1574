"""A trained FIM as a forecaster of frames."""

import hashlib
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
        self._apply = jax.jit(_forecast_windows, static_argnums=(0, 1, 2, 3))

    @classmethod
    def from_pretrained(cls, run: Path | str) -> "Forecaster":
        """The best checkpoint of a training run."""
        return cls(*load_params(run))

    @property
    def version(self) -> str:
        """Tells these weights from others."""
        digest = hashlib.sha256(repr(self.config.model).encode())
        for path, leaf in jax.tree_util.tree_leaves_with_path(self.params):
            digest.update(jax.tree_util.keystr(path).encode())
            digest.update(np.asarray(leaf).tobytes())
        return digest.hexdigest()[:16]

    def forecast(
        self, df: pd.DataFrame, h: int, *, freq: int = 1, season_length: int = 1, quantiles: tuple[float, ...] = ()
    ) -> pd.DataFrame:
        """Forecasts the next h steps of every series.

        Args:
            df: long format: unique_id, ds (whole steps) and y; missing values may be NaN or left out.
            h: steps to forecast.
            freq: steps of ds from one point to the next.
            season_length: points in a season, 1 = none or unknown.
            quantiles: levels in (0, 1).

        Returns:
            unique_id, ds, the median under the model's name, and a column such as `FIM-q-10` for each quantile; series
            in the order of their first appearance.
        """
        codes, ids = pd.factorize(df["unique_id"])
        order = np.lexsort((df["ds"].to_numpy(), codes))
        stops = np.searchsorted(codes[order], np.arange(len(ids)), side="right")
        ends = df["ds"].to_numpy()[order][stops - 1]
        values, times = df["y"].to_numpy(np.float64)[order], df["ds"].to_numpy()[order]
        series = [
            ((times[start:stop] - end) / freq, values[start:stop])
            for start, stop, end in zip(np.append(0, stops[:-1]), stops, ends)
        ]
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
        """The model's own quantiles [N, h, L] of series of times (in steps, 0 the last) and values."""
        # A window is as long as the horizon, or as the shortest window that the model was trained on.
        steps = max(h, self.config.prior.min_window_steps)
        points = (self.config.model.windows - 1) * steps
        answers = []
        for first in range(0, len(series), BATCH):
            group = series[first : first + BATCH]
            times, values = (np.zeros((BATCH, points), np.float32) for _ in range(2))
            mask = np.zeros((BATCH, points), bool)
            for row, (t, y) in enumerate(group):
                keep = np.isfinite(y)
                t, y = t[keep][-points:], y[keep][-points:]
                times[row, : len(t)], values[row, : len(y)], mask[row, : len(y)] = t, y, True
            out = np.asarray(self._apply(self.config, h, steps, season, self.params, times, values, mask))
            answers.append(out[: len(group)])
        return np.concatenate(answers).astype(np.float64)


def _forecast_windows(
    config: Config,
    h: int,
    steps: int,
    season: int,
    params: Params,
    times: jax.Array,
    values: jax.Array,
    mask: jax.Array,
) -> jax.Array:
    """The next h steps of B series [B, N], whose last point is at time 0: [B, h, L]."""
    batch = values.shape[0]
    windows = split_windows(
        times,
        values,
        mask,
        steps=jnp.full(batch, steps),
        step=jnp.ones(batch),
        season=jnp.full(batch, season),
        windows=config.model.windows - 1,
        slots=config.prior.slots,
    )
    query_times = jnp.broadcast_to(jnp.arange(1.0, h + 1), (batch, h))
    return build_model(config.model).apply({"params": params}, windows, query_times)
