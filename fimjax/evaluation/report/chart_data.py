"""The numbers behind the report's charts, computed from metrics and forecasts."""

import numpy as np
import pandas as pd

from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import INTERVALS, LEVELS, Forecasts
from fimjax.evaluation.metrics import SCORED, scrps

REFERENCES = ("sicoum", "seasonal_naive")
"""Reference models; the first one with a score is used."""


def relative_scores(metrics: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """sCRPS relative to the reference model's on the same data set.

    Returns:
        Scores, with a row per data set and a column per model; the reference of each data set, "" for the best model.
    """
    scores = metrics.pivot(index="dataset", columns="model", values="scrps").astype(float)
    scores = scores.reindex(index=metrics["dataset"].unique(), columns=metrics["model"].unique())
    references = pd.Series("", index=scores.index)
    divisors = scores.where(scores > 0).min(axis=1)
    for name in reversed(REFERENCES):
        if name in scores:
            usable = scores[name] > 0
            references[usable], divisors[usable] = name, scores.loc[usable, name]
    return scores.div(divisors, axis=0), references


def common_scores(relative: pd.DataFrame) -> pd.DataFrame:
    """Drops models without any score, then data sets that lack a score of some model."""
    return relative.dropna(axis=1, how="all").dropna()


def seconds_per_thousand(metrics: pd.DataFrame, datasets: pd.Index) -> pd.Series:
    """Processor seconds per 1000 series of these data sets, for models that were timed on all of them."""
    timed = metrics[metrics["dataset"].isin(datasets) & (metrics["cpu_seconds"] > 0)]
    sums = timed.groupby("model", sort=False)[["cpu_seconds", "series"]].sum()
    counts = timed.groupby("model", sort=False).size()
    return (1000 * sums["cpu_seconds"] / sums["series"])[counts == len(datasets)].astype(float)


def mean_coverages(metrics: pd.DataFrame) -> pd.DataFrame:
    """Mean coverage over data sets, weighted by series: a row per model, a column per interval."""
    rows = {}
    for model, group in metrics.groupby("model", sort=False):
        found = group[[f"coverage_{interval}" for interval in INTERVALS]].to_numpy(float)
        weights = np.where(np.isfinite(found), group[["population"]].to_numpy(float), 0.0)
        total = weights.sum(axis=0)
        rows[model] = np.where(total > 0, np.nansum(found * weights, axis=0) / np.where(total > 0, total, 1), np.nan)
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(INTERVALS)).dropna()


def step_errors(dataset: Dataset, forecasts: Forecasts, scales: np.ndarray) -> np.ndarray:
    """mean over series of |y - f| / naive_scale at each step [h]; series with scale 0 are left out."""
    defined = scales > 0
    errors = np.abs(dataset.future - forecasts.point)[defined] / scales[defined, None]
    return errors.mean(axis=0) if defined.any() else np.full(dataset.future.shape[1], np.nan)


def series_scores(dataset: Dataset, forecasts: Forecasts, scales: np.ndarray) -> np.ndarray:
    """mean over steps and levels of 2 rho_p(y, q_p) / naive_scale of each series [B]; NaN where the scale is 0."""
    losses = scrps(dataset.future, forecasts.quantiles[..., SCORED], tuple(LEVELS[i] for i in SCORED)).numerator
    return np.where(scales > 0, losses / dataset.future.shape[1] / np.where(scales > 0, scales, 1), np.nan)
