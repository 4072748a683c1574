"""How well does FIM-l fill in missing values, compared with interpolators that are fitted to each series?

`python -m research.filling --model runs/small/fim` measures this twice:

- on windows of the model's own prior that neither training nor validation uses, at the points that are left out;
- on the training parts of M4: some of the last points of each series are removed; the test parts are never read.

The model receives the season; the interpolators do not use it.

What was learned: points removed at random are filled in slightly better than by a Gaussian process and 4 % better than
by straight lines. On daily series lines are better, on hourly ones Gaussian processes are. Long gaps are a weakness.
"""

import argparse
import functools
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pandas as pd

from fimjax.config import Config
from fimjax.errors import EvaluationError, PretrainedError
from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.datasets.folder import load_dataset
from fimjax.evaluation.datasets.sampling import take_sample
from fimjax.forecaster import Forecaster
from fimjax.inference.quantiles import interpolate_quantiles
from fimjax.models import Params, build_model
from fimjax.nn.quantile_head import median_index
from fimjax.prior.sampler import sample_groups
from fimjax.training.losses import WINDOW_CLIP, FoldedWindows, fold_windows, interpolate
from fimjax.training.step import stream_key
from research.interpolators import INTERPOLATORS

DATASETS = tuple(name for name, info in CATALOG.items() if info.competition == "m4")
"""The data sets from whose training parts points are removed."""

MODEL = "FIM-l"
"""The model's row in the tables; the other rows are those of INTERPOLATORS."""

FILLING_STREAM = 3
"""Stream of random keys for held-out windows; neither training nor validation uses it."""

FIELDS = ("times", "noisy", "clean", "observed", "valid")
"""Fields of a sample with one value per slot of a window."""

FEWEST_POINTS = 4
"""Least number of observed points in a window."""

MOST_POINTS = 200
"""Longer series are cut to their last points. Interpolators are fitted to all of them as one window."""

REMOVED = 0.3
"""Share of the inner points of a series that are removed."""


class Window(NamedTuple):
    """Observed points of a window and points left out between them, scaled to the observed range."""

    times: np.ndarray  # [n], rising
    values: np.ndarray  # [n], from 0 to 1
    queries: np.ndarray  # [Q]
    noisy: np.ndarray  # [Q], with noise
    clean: np.ndarray  # [Q], without noise
    quantiles: np.ndarray  # [Q, L], of FIM-l


@functools.partial(jax.jit, static_argnums=0)
def _interpolate_group(
    config: Config, params: Params, key: jax.Array, group: jax.Array
) -> tuple[FoldedWindows, jax.Array]:
    """Context windows of a group of series, fields [B * W, T], and FIM-l's quantiles at all slots [B * W, T, L]."""
    sample = sample_groups(key, group, 1, config.prior, config.windows)
    folded = fold_windows(sample.replace(**{name: getattr(sample, name)[:, :-1] for name in FIELDS}))
    local = build_model(config.model.local, config.windows.count)
    return folded, interpolate(local, params["local"], folded)


def held_out_windows(config: Config, params: Params, series: int, seed: int) -> list[Window]:
    """Windows with missing points, from at least this many series, in whole groups of the prior."""
    key = stream_key(seed, FILLING_STREAM)
    windows: list[Window] = []
    for group in range(-(-series // config.prior.group_size)):
        folded, quantiles = jax.device_get(_interpolate_group(config, params, key, group))
        for slots in zip(*(getattr(folded, name) for name in FIELDS), quantiles):
            windows += _read_window(*slots)
    if not windows:
        raise EvaluationError(f"no window of {series} series has a missing point; use more series")
    return windows


def _read_window(
    times: np.ndarray, noisy: np.ndarray, clean: np.ndarray, observed: np.ndarray, valid: np.ndarray, out: np.ndarray
) -> Iterator[Window]:
    """Reads a window from its slots [T]; skips windows with few or equal points or without a gap."""
    if observed.sum() < FEWEST_POINTS:
        return
    times, noisy, clean, out = (x.astype(np.float64) for x in (times, noisy, clean, out))
    missing = valid & ~observed & (times > times[observed][0]) & (times < times[observed][-1])
    low, high = noisy[observed].min(), noisy[observed].max()
    if missing.any() and high > low:
        parts = (noisy[observed], noisy[missing], clean[missing], out[missing])
        values, *targets = ((x - low) / (high - low) for x in parts)
        yield Window(times[observed], values, times[missing], *targets)


def measure_windows(windows: list[Window], levels: tuple[float, ...], clip: float) -> pd.DataFrame:
    """Errors against noisy and clean values, and coverage of FIM-l's 80 % interval.

    All windows have the same weight. Targets are clipped as in training, to `clip` ranges.
    """
    filled = {MODEL: [w.quantiles[:, median_index(levels)] for w in windows]}
    filled |= {name: [fit(w.times, w.values, w.queries) for w in windows] for name, fit in INTERPOLATORS.items()}
    rows: dict[str, dict[str, float]] = {name: {} for name in filled}
    for name, found in filled.items():
        for kind in ("noisy", "clean"):
            errors = [x - np.clip(getattr(w, kind), -clip, clip) for x, w in zip(found, windows)]
            rows[name][f"MAE {kind}"] = np.mean([np.abs(x).mean() for x in errors])
            rows[name][f"RMSE {kind}"] = np.mean([np.square(x).mean() for x in errors]) ** 0.5
    rows[MODEL]["coverage 80"] = np.mean([_coverage(w, levels) for w in windows]) if levels else np.nan
    return pd.DataFrame(rows).T


def _coverage(window: Window, levels: tuple[float, ...]) -> float:
    """Coverage of FIM-l's 80 % interval in one window."""
    low, high = interpolate_quantiles(window.quantiles, levels, (0.1, 0.9)).T
    return np.mean((low <= window.noisy) & (window.noisy <= high))


def remove_points(count: int, rng: np.random.Generator) -> np.ndarray:
    """Chooses points to remove, True [count]; the first and the last are kept."""
    inside = np.arange(1, count - 1)
    removed = np.zeros(count, bool)
    removed[rng.choice(inside, round(REMOVED * len(inside)), replace=False)] = True
    return removed


def measure_dataset(model: Forecaster, dataset: Dataset, seed: int) -> dict[str, float]:
    """Mean absolute error at removed points over the series' mean absolute step, averaged over series.

    The removed points depend on the seed and the series, not on the sample. Constant and very short series are left
    out.
    """
    frames, series = [], []
    for id, history in zip(dataset.ids, dataset.histories):
        y = history[-MOST_POINTS:]
        removed = remove_points(len(y), np.random.default_rng([seed, zlib.crc32(id.encode())]))
        if removed.any() and np.ptp(y) > 0:
            series.append((y, removed))
            frames.append(pd.DataFrame({"unique_id": id, "ds": np.arange(len(y)), "y": np.where(removed, np.nan, y)}))
    if not series:
        raise EvaluationError(f"data set {dataset.info.name}: no series has a point to remove")
    frame = model.interpolate(pd.concat(frames), freq=1, season_length=dataset.info.reported_season)
    found = np.split(frame[model.name].to_numpy(), np.cumsum([len(y) for y, _ in series])[:-1])
    errors = {MODEL: [_step_error(*one, filled[one[1]]) for one, filled in zip(series, found)]}
    for name, fit in INTERPOLATORS.items():
        errors[name] = []
        for y, removed in series:
            known, queries = np.flatnonzero(~removed), np.flatnonzero(removed)
            errors[name].append(_step_error(y, removed, fit(known, y[known], queries)))
    return {name: float(np.mean(x)) for name, x in errors.items()}


def _step_error(y: np.ndarray, removed: np.ndarray, filled: np.ndarray) -> float:
    return np.abs(filled - y[removed]).mean() / np.abs(np.diff(y)).mean()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="name or folder of weights, or a run (default: the bundled weights)")
    parser.add_argument("--series", type=int, default=512, help="synthetic series, in whole groups (default: 512)")
    parser.add_argument("--sample", type=int, default=100, help="series of each data set (default: 100)")
    parser.add_argument("--data", type=Path, help="data folder (default: FIMJAX_DATA or the user's cache)")
    parser.add_argument("--seed", type=int, default=0, help="of synthetic series, samples and gaps (default: 0)")
    arguments = parser.parse_args(argv)
    try:
        for name in ("series", "sample"):
            if getattr(arguments, name) < 1:
                raise EvaluationError(f"{name}: {getattr(arguments, name)} is not a number of series")
        if arguments.seed < 0:
            raise EvaluationError(f"seed: {arguments.seed} is negative")
        model, columns = Forecaster.from_pretrained(arguments.model), {}
        config, show = model.config, {"float_format": "{:.4g}".format, "na_rep": "-"}
        windows = held_out_windows(config, model.params, arguments.series, arguments.seed)
        clip, levels = min(config.training.target_clip, WINDOW_CLIP), config.model.local.quantile_levels
        print(f"Errors in {len(windows):,} held-out windows, in units of their observed range\n")
        print(measure_windows(windows, levels, clip).to_string(**show))
        for name in DATASETS:
            sample = take_sample(load_dataset(name, arguments.data), arguments.sample, arguments.seed)
            columns[name] = measure_dataset(model, sample, arguments.seed)
    except (EvaluationError, PretrainedError) as error:
        print(f"filling: {error}", file=sys.stderr)
        return 2
    table = pd.DataFrame(columns)
    table["ratio to linear"] = np.exp(np.log(table / table.loc["linear"]).mean(axis=1))
    print(f"\nErrors at removed points, in mean absolute steps of the series\n\n{table.to_string(**show)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
