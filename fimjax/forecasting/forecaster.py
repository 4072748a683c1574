"""A trained FIM as a forecaster of frames."""

import hashlib
import itertools
import warnings
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np

from fimjax.config import Config, FIMConfig
from fimjax.forecasting.columns import clip, read_wanted
from fimjax.forecasting.engine import CHUNK, Request, answer
from fimjax.forecasting.inputs import Inputs, read_inputs
from fimjax.forecasting.panel import InputError
from fimjax.forecasting.pretrained import PretrainedError, load_pretrained, save_pretrained
from fimjax.forecasting.program import Params, forecast_windows
from fimjax.forecasting.rollout import roll_out
from fimjax.nn.head import median_index


class Forecaster:
    """Forecasts series that it has never seen with a FIM trained on synthetic ones."""

    trained_on: tuple[str, ...] = ()
    """Benchmark data sets seen in training: none, for all training is on synthetic series."""

    def __init__(self, config: Config, params: Params, about: dict | None = None, name: str = "FIM"):
        if not isinstance(config.model, FIMConfig):
            raise PretrainedError(f"a {type(config.model).__name__} does not forecast; give the run of a FIM")
        self.config, self.params, self.about, self.name = config, params, about or {}, name

    @classmethod
    def from_pretrained(cls, source: str | Path | None = None) -> "Forecaster":
        """Bundled weights by name, a folder that `save_pretrained` made, or the best checkpoint of a training run."""
        return cls(*load_pretrained(source))

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes config.json and model.safetensors."""
        save_pretrained(folder, self.config, self.params, self.about)

    @property
    def version(self) -> str:
        """Tells these weights, read by this version of fimjax, from others."""
        prior = self.config.prior
        about = (
            metadata.version("fimjax"),
            self.config.model,
            prior.min_window_steps,
            prior.max_window_steps,
            prior.slots,
        )
        digest = hashlib.sha256(repr(about).encode())
        for path, leaf in jax.tree_util.tree_leaves_with_path(self.params):
            digest.update(jax.tree_util.keystr(path).encode())
            digest.update(np.asarray(leaf).tobytes())
        return digest.hexdigest()[:16]

    def apply(self, params: Params, *arrays: jax.Array) -> jax.Array:
        """The forecast as a pure function, to be jitted, vmapped and differentiated; see `forecast_windows`."""
        return forecast_windows(self.config, params, *arrays)

    def forecast(
        self,
        df: Any,
        h: int,
        freq: str | int | float | None = None,
        *,
        level: Sequence[float] | float | None = None,
        quantiles: Sequence[float] | None = None,
        season_length: int | None = None,
        nonnegative: bool = False,
        bounds: tuple[float | None, float | None] | None = None,
        id_col: str = "unique_id",
        time_col: str = "ds",
        target_col: str = "y",
    ) -> Any:
        """Forecasts the next h steps of every series.

        Args:
            df: a long frame of pandas or polars with ids, times (dates or numbers) and values; or values [T] or [N, T],
                a list of such, or tuples (t, y) or (t, y, mask). Missing values may be NaN or left out.
            h: steps to forecast, after the last row of each series.
            freq: the time between two points, as an alias of pandas or a number; inferred where it can be.
            level: central intervals in per cent, for columns such as `FIM-lo-80` and `FIM-hi-80`.
            quantiles: levels in (0, 1), for columns such as `FIM-q-10`.
            season_length: points in a season, 1 for none; by default that of the frequency.
            nonnegative, bounds: what is known of the values; all answers are brought within.

        Returns:
            A frame of the same kind (of pandas for arrays): ids, times, the median under the model's name, and the
            columns asked for; series in the order of their first appearance. A series without any observation has NaN.
        """
        if isinstance(h, bool) or int(h) != h or h < 1:
            raise InputError(f"h={h!r}: at least one step must be asked for")
        wanted = read_wanted(level, quantiles)
        clip(np.empty(0), nonnegative, bounds)
        inputs = read_inputs(df, freq, season_length, id_col, time_col, target_col)
        stamps = inputs.frequency.stamps_after(inputs.ends, h)  # [N, h]
        inputs.kind.check_stamps(stamps)
        answers = np.stack(list(self._answers(inputs, stamps)))  # [N, h, L]
        answers = clip(answers, nonnegative, bounds)
        levels = self.config.model.quantile_levels
        return inputs.kind.build(
            {
                inputs.kind.id_col: np.repeat(inputs.panel.ids, h),
                inputs.kind.time_col: stamps.ravel(),
                self.name: answers[..., median_index(levels)].ravel(),
                **{k: clip(v, nonnegative, bounds) for k, v in wanted.columns(self.name, answers, levels).items()},
            }
        )

    def _answers(self, inputs: Inputs, stamps: np.ndarray) -> Iterator[np.ndarray]:
        """The model's own quantiles [h, L] of each series at its stamps, which come after its last one."""
        lasts = np.repeat(inputs.ends, stamps.shape[1])
        ahead = inputs.frequency.positions(stamps.ravel(), lasts).reshape(stamps.shape)
        levels = self.config.model.quantile_levels
        outputs, longest = max(1, len(levels)), self.config.prior.max_window_steps
        ask = lambda requests: list(answer(self.config, self.params, requests))
        series = zip(inputs.panel.ids, inputs.positions(), inputs.panel.values, ahead)
        while chunk := list(itertools.islice(series, CHUNK)):
            seen = [bool(np.isfinite(y).any()) for _, _, y, _ in chunk]
            for (id, *_), ok in zip(chunk, seen):
                if not ok:
                    warnings.warn(f"series {id!r} has no observation: its forecast is NaN", stacklevel=3)
            requests = [self._request(t, y, inputs.season, q) for (_, t, y, q), ok in zip(chunk, seen) if ok]
            found = iter(roll_out(ask, requests, longest, median_index(levels)))
            yield from (next(found) if ok else np.full((stamps.shape[1], outputs), np.nan) for ok in seen)

    def _request(self, times: np.ndarray, values: np.ndarray, season: int, queries: np.ndarray) -> Request:
        """What the model reads of a series: its observed points, with steps without any at its end as part of what is
        unseen, in windows as long as what is asked for, or as the shortest window that it was trained on."""
        observed = np.isfinite(values)
        times, values = times[observed], values[observed]
        queries = queries - times[-1]
        steps = max(int(np.ceil(queries[-1] - 1e-6)), self.config.prior.min_window_steps)
        return Request(times - times[-1], values, steps, season, queries)
