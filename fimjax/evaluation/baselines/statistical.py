"""Statistical models from StatsForecast, and the paper's ensemble SiCoUM of four of them."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm
from statsforecast import models

from fimjax.evaluation.forecasts import INTERVALS, LEVELS, Forecasts, interval_indices, level_index

SINGLE: dict[str, Callable[[int], Any]] = {
    "naive": lambda season: models.Naive(),
    "seasonal_naive": lambda season: models.SeasonalNaive(season_length=season),
    "auto_arima": lambda season: models.AutoARIMA(season_length=season),
    "auto_ets": lambda season: models.AutoETS(season_length=season),
    "auto_ces": lambda season: models.AutoCES(season_length=season),
    "dynamic_optimized_theta": lambda season: models.DynamicOptimizedTheta(season_length=season),
}
"""Models that are fitted, with the season length of table 3."""

COMBINED = ("sicoum", "sicoum_narrow")
"""The paper's ensemble by its equations, and as in its tables; combined from the fits of MEMBERS."""

MEMBERS = ("auto_ces", "dynamic_optimized_theta", "auto_arima", "auto_ets")

FALLBACK = "seasonal_naive"


def fit_and_forecast(
    name: str, history: np.ndarray, season: int, horizon: int
) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """Fits one model to one series; SeasonalNaive replaces it if the fit fails.

    Returns:
        The point forecast [h], which is the mean; quantiles [h, L], with the mean as median; processor seconds;
        whether SeasonalNaive replaced the model.
    """
    start = time.process_time()
    try:
        point, quantiles = _forecast(SINGLE[name](season), history, horizon)
        failed = not (_is_finite(point) and _is_finite(quantiles))
    except Exception:  # a fit may raise anything; the column `fallbacks` counts these
        failed = True
    if failed:
        point, quantiles = _fallback(history, season, horizon)
    return point, quantiles, time.process_time() - start, failed


def _forecast(model: Any, history: np.ndarray, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = model.forecast(y=history, h=horizon, level=list(INTERVALS))
    quantiles = np.empty((horizon, len(LEVELS)))
    quantiles[:, level_index(0.5)] = found["mean"]
    for interval in INTERVALS:
        lower, upper = interval_indices(interval)
        quantiles[:, lower], quantiles[:, upper] = found[f"lo-{interval}"], found[f"hi-{interval}"]
    return np.asarray(found["mean"], dtype=np.float64), quantiles


def _is_finite(x: np.ndarray) -> bool:
    """Whether all values are finite in the float32 of the fit cache."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(x.astype(np.float32)).all())


def _fallback(history: np.ndarray, season: int, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """SeasonalNaive, or the last value if the history is too short; intervals of no width where it gives none."""
    try:
        point, quantiles = _forecast(SINGLE[FALLBACK](season), history, horizon)
    except Exception:
        point, quantiles = np.full(horizon, np.nan), np.full((horizon, len(LEVELS)), np.nan)
    if not _is_finite(point):
        point = np.full(horizon, history[-1])
    return point, quantiles if _is_finite(quantiles) else np.repeat(point[:, None], len(LEVELS), axis=1)


def implied_deviation(quantiles: np.ndarray) -> np.ndarray:
    """The standard deviation of a Gaussian with intervals of these widths, averaged over INTERVALS: [..., L] -> [...].

    AutoARIMA and most AutoETS models give the same value for every interval. AutoCES and Theta simulate; the average
    over five intervals reduces the sampling error.
    """
    widths = []
    for interval in INTERVALS:
        lower, upper = interval_indices(interval)
        widths.append((quantiles[..., upper] - quantiles[..., lower]) / (2 * norm.ppf(LEVELS[upper])))
    return np.mean(widths, axis=0)


def combine(name: str, members: list[Forecasts]) -> Forecasts:
    """SiCoUM: Gaussian quantiles (equation 6) around the mean of the members' means (equation 4).

    The variance of `sicoum` is the mean of the members' variances (equation 5). The scores in the paper's tables agree
    with a quarter of it, the variance of a mean of four independent forecasts; `sicoum_narrow` uses that one.
    """
    mean = np.mean([member.point for member in members], axis=0)
    variance = np.mean([implied_deviation(member.quantiles) ** 2 for member in members], axis=0)
    if name == "sicoum_narrow":
        variance = variance / len(members)
    return Forecasts(
        ids=members[0].ids,
        point=mean,
        quantiles=mean[..., None] + np.sqrt(variance)[..., None] * norm.ppf(LEVELS),
        seconds=np.sum([member.seconds for member in members], axis=0),
        elapsed=np.sum([member.elapsed for member in members], axis=0),
        fallback=np.any([member.fallback for member in members], axis=0),
    )
