"""A picture of what a trained model says of series that it has not seen."""

from pathlib import Path

import jax
import numpy as np

from fimjax.checkpoints.runs import load_params
from fimjax.config import Config, FIMConfig
from fimjax.models import build_model, forecasts
from fimjax.nn.quantile_head import median_index
from fimjax.prior.sampler import Sample, sample_groups
from fimjax.training.losses import fold_windows, interpolate
from fimjax.training.step import VALIDATION_STREAM, stream_key

COLUMNS = 4
TRUTH, OBSERVED, MODEL = "#888888", "#222222", "#c0392b"


def draw_run(run: Path) -> str:
    """Draws the best checkpoint of a run on validation series, into the run's folder.

    One row of interpolations, for FIM with its FIM-l, and one of forecasts.

    Returns:
        What was drawn, or why nothing was, as a sentence.
    """
    try:
        import matplotlib
    except ImportError:
        return "drew no picture, for that needs matplotlib: pip install 'fimjax[plot]'"
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    config, params = load_params(run)
    model = build_model(config.model)
    sample = jax.jit(lambda key: sample_groups(key, 0, 1, config.prior))(
        stream_key(config.training.seed, VALIDATION_STREAM)
    )
    chosen = spread(config)
    interpolator, own_params = (model, params) if not forecasts(config.model) else (None, None)
    if isinstance(config.model, FIMConfig):
        interpolator, own_params = build_model(config.model.local), params["local"]
    rows = (interpolator is not None) + forecasts(config.model)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(4 * COLUMNS, 2.8 * rows), squeeze=False, layout="constrained")

    if interpolator is not None:
        folded = fold_windows(sample)
        last = np.array(chosen) * sample.times.shape[1] + sample.times.shape[1] - 1
        answers = np.asarray(jax.jit(lambda p: interpolate(interpolator, p, folded))(own_params))
        for axis, window in zip(axes[0], last):
            draw_interpolation(axis, jax.tree.map(np.asarray, folded), answers, window, interpolator)
    if forecasts(config.model):
        out = np.asarray(jax.jit(lambda p: model.apply({"params": p}, sample.past(), sample.times[:, -1]))(params))
        for axis, series in zip(axes[-1], chosen):
            draw_forecast(axis, jax.tree.map(np.asarray, sample), out, series, model)
    axes[0, 0].legend(loc="best", fontsize=8)
    path = run / "picture.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return f"drew {path}"


def spread(config: Config) -> list[int]:
    """A few series from all over a group, so that several families are seen."""
    return [int(i) for i in np.linspace(0, config.prior.group_size - 1, COLUMNS)]


def draw_interpolation(axis, folded: dict, answers: np.ndarray, window: int, model) -> None:
    times, valid, observed = folded["times"][window], folded["valid"][window], folded["observed"][window]
    axis.plot(times[valid], folded["clean"][window][valid], color=TRUTH, lw=2.5, alpha=0.6, label="truth")
    axis.plot(times[observed], folded["noisy"][window][observed], ".", color=OBSERVED, label="observed")
    draw_answer(axis, times[valid], answers[window][valid], model.config.quantile_levels)
    axis.set_title("interpolation", fontsize=9)


def draw_forecast(axis, sample: Sample, out: np.ndarray, series: int, model) -> None:
    times, valid, observed = (x[series].reshape(-1) for x in (sample.times, sample.valid, sample.observed))
    seen = observed & (times <= sample.origin[series])
    axis.plot(times[valid], sample.clean[series].reshape(-1)[valid], color=TRUTH, lw=2, alpha=0.6)
    axis.plot(times[seen], sample.noisy[series].reshape(-1)[seen], ".", color=OBSERVED, ms=3)
    target = sample.valid[series, -1]
    draw_answer(axis, sample.times[series, -1][target], out[series][target], model.config.quantile_levels)
    axis.axvline(sample.origin[series], color=TRUTH, lw=1, ls=":")
    axis.set_title(f"forecast of {int(sample.steps[series])} steps", fontsize=9)


def draw_answer(axis, times: np.ndarray, out: np.ndarray, levels: tuple[float, ...]) -> None:
    """A line, and a band between the outermost quantiles where there are any."""
    axis.plot(times, out[:, median_index(levels)], color=MODEL, lw=1.6, label="model")
    if levels:
        axis.fill_between(times, out[:, 0], out[:, -1], color=MODEL, alpha=0.2, lw=0)
