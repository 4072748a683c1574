"""The statistical models that the paper found unbeaten, from StatsForecast."""

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
"""The models that are fitted, each given the season length of table 3."""

COMBINED = ("sicoum", "sicoum_narrow")
"""The paper's ensemble by its equations, and as its tables have it; combined from MEMBERS and not fitted themselves."""

MEMBERS = ("auto_ces", "dynamic_optimized_theta", "auto_arima", "auto_ets")

FALLBACK = "seasonal_naive"


def fit_and_forecast(
    name: str, history: np.ndarray, season: int, horizon: int
) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """Fits one model to one series, or SeasonalNaive where the model fails.

    Returns:
        The point forecast [h], which is the mean; quantiles [h, L], with the mean for the median; processor seconds;
        whether SeasonalNaive had to answer.
    """
    start = time.process_time()
    try:
        point, quantiles = _forecast(SINGLE[name](season), history, horizon)
        failed = not (_is_finite(point) and _is_finite(quantiles))
    except Exception:  # whatever a fit may raise, the count of fallbacks reports it
        failed = True
    if failed:
        point, quantiles = _fallback(history, season, horizon)
    return point, quantiles, time.process_time() - start, failed


def _forecast(model: Any, history: np.ndarray, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        answer = model.forecast(y=history, h=horizon, level=list(INTERVALS))
    quantiles = np.empty((horizon, len(LEVELS)))
    quantiles[:, level_index(0.5)] = answer["mean"]
    for interval in INTERVALS:
        lower, upper = interval_indices(interval)
        quantiles[:, lower], quantiles[:, upper] = answer[f"lo-{interval}"], answer[f"hi-{interval}"]
    return np.asarray(answer["mean"], dtype=np.float64), quantiles


def _is_finite(x: np.ndarray) -> bool:
    """Whether all are numbers, also in the precision in which fits are kept."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(x.astype(np.float32)).all())


def _fallback(history: np.ndarray, season: int, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """SeasonalNaive, or where the history is shorter than that needs, its last value; no width where it gives none."""
    try:
        point, quantiles = _forecast(SINGLE[FALLBACK](season), history, horizon)
    except Exception:
        point, quantiles = np.full(horizon, np.nan), np.full((horizon, len(LEVELS)), np.nan)
    if not _is_finite(point):
        point = np.full(horizon, history[-1])
    return point, quantiles if _is_finite(quantiles) else np.repeat(point[:, None], len(LEVELS), axis=1)


def implied_deviation(quantiles: np.ndarray) -> np.ndarray:
    """The deviation of the Gaussian that an interval's width suggests, averaged over INTERVALS: [..., L] -> [...].

    For AutoARIMA and most of AutoETS every interval gives the same number. AutoCES and the Theta model simulate, and
    the average over five intervals steadies what one pair of order statistics would say.
    """
    widths = []
    for interval in INTERVALS:
        lower, upper = interval_indices(interval)
        widths.append((quantiles[..., upper] - quantiles[..., lower]) / (2 * norm.ppf(LEVELS[upper])))
    return np.mean(widths, axis=0)


def combine(name: str, members: list[Forecasts]) -> Forecasts:
    """SiCoUM: the mean of the means (equation 4), a variance, Gaussian quantiles (equation 6).

    `sicoum` has the mean of the variances (equation 5). The figures in the paper's tables come from another variance,
    that of the mean of independent forecasts, a quarter of it; `sicoum_narrow` has that one.
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
