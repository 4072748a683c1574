"""A picture of a trained model's predictions on validation series."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from fimjax.checkpoints.runs import load_run
from fimjax.config import Config, FIMConfig, ReportFIMConfig
from fimjax.models import build_model, forecasts
from fimjax.nn.quantile_head import median_index
from fimjax.prior.sampler import sample_groups
from fimjax.training.losses import fold_windows, interpolate
from fimjax.training.step import VALIDATION_STREAM, stream_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 4
TRUTH, OBSERVED, MODEL = "#888888", "#222222", "#c0392b"


def draw_run(run: Path) -> str:
    """Draws the best checkpoint of a run on validation series, into the run's folder.

    There is a row of interpolations and, for forecasters, a row of forecasts.

    Returns:
        A sentence that says what was drawn, or why nothing was.
    """
    try:
        import matplotlib
    except ImportError:
        return "drew no picture, because matplotlib is missing: pip install 'fimjax[plot]'"
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    config, params = load_run(run)
    model = build_model(config.model, config.windows.count)
    key = stream_key(config.training.seed, VALIDATION_STREAM)
    sample = jax.jit(lambda key: sample_groups(key, 0, 1, config.prior, config.windows))(key)
    chosen = _spread_out(config)
    interpolator, own_params = None, None
    if isinstance(config.model, FIMConfig | ReportFIMConfig):
        interpolator, own_params = build_model(config.model.local, config.windows.count), params["local"]
    elif not forecasts(config.model):
        interpolator, own_params = model, params
    rows = (interpolator is not None) + forecasts(config.model)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(4 * COLUMNS, 2.8 * rows), squeeze=False, layout="constrained")

    if interpolator is not None:
        folded = fold_windows(sample)
        last = np.array(chosen) * sample.times.shape[1] + sample.times.shape[1] - 1
        out = np.asarray(jax.jit(lambda p: interpolate(interpolator, p, folded))(own_params))
        for axis, window in zip(axes[0], last):
            _draw_interpolation(axis, jax.tree.map(np.asarray, folded), out, window, config.model.quantile_levels)
    if forecasts(config.model):
        out = np.asarray(jax.jit(lambda p: model.apply({"params": p}, sample.past(), sample.times[:, -1]))(params))
        for axis, series in zip(axes[-1], chosen):
            _draw_forecast(axis, jax.tree.map(np.asarray, sample), out, series, config.model.quantile_levels)
    axes[0, 0].legend(loc="best", fontsize=8)
    path = run / "picture.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return f"drew {path}"


def _spread_out(config: Config) -> list[int]:
    """A few series from all parts of a group, so that several families are shown."""
    return [int(i) for i in np.linspace(0, config.prior.group_size - 1, COLUMNS)]


def _draw_interpolation(axis: "Axes", folded: Any, out: np.ndarray, window: int, levels: tuple[float, ...]) -> None:
    """One window of folded windows, as NumPy arrays."""
    times, valid, observed = folded.times[window], folded.valid[window], folded.observed[window]
    axis.plot(times[valid], folded.clean[window][valid], color=TRUTH, lw=2.5, alpha=0.6, label="truth")
    axis.plot(times[observed], folded.noisy[window][observed], ".", color=OBSERVED, label="observed")
    _draw_prediction(axis, times[valid], out[window][valid], levels)
    axis.set_title("interpolation", fontsize=9)


def _draw_forecast(axis: "Axes", sample: Any, out: np.ndarray, series: int, levels: tuple[float, ...]) -> None:
    """One series of a sample, as NumPy arrays."""
    times, valid, observed = (x[series].reshape(-1) for x in (sample.times, sample.valid, sample.observed))
    seen = observed & (times <= sample.origin[series])
    axis.plot(times[valid], sample.clean[series].reshape(-1)[valid], color=TRUTH, lw=2, alpha=0.6)
    axis.plot(times[seen], sample.noisy[series].reshape(-1)[seen], ".", color=OBSERVED, ms=3)
    target = sample.valid[series, -1]
    _draw_prediction(axis, sample.times[series, -1][target], out[series][target], levels)
    axis.axvline(sample.origin[series], color=TRUTH, lw=1, ls=":")
    axis.set_title(f"forecast of {int(sample.steps[series])} steps", fontsize=9)


def _draw_prediction(axis: "Axes", times: np.ndarray, out: np.ndarray, levels: tuple[float, ...]) -> None:
    """The median, and a band between the outermost quantiles if there are any."""
    axis.plot(times, out[:, median_index(levels)], color=MODEL, lw=1.6, label="model")
    if levels:
        axis.fill_between(times, out[:, 0], out[:, -1], color=MODEL, alpha=0.2, lw=0)
