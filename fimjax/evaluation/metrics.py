"""The benchmark's metrics, each with its formula.

y is the test part [B, h], f the point forecast [B, h], q the forecast quantiles [B, h, L].

Every metric is a sum over series divided by another sum over series, so each function returns what each series adds to
both sums. For a mean over series these are the metric of the series and 1, or 0 and 0 where the metric is undefined.
"""

import dataclasses
from typing import overload

import numpy as np
import pandas as pd

from fimjax.evaluation.forecasts import LEVELS

SCORED = tuple(i for i, level in enumerate(LEVELS) if 0.1 - 1e-9 <= level <= 0.9 + 1e-9)
"""Positions in LEVELS of the levels that sCRPS averages: 0.1, 0.2, ..., 0.9."""


@dataclasses.dataclass(frozen=True)
class RatioOfSums:
    """What each series adds to a metric's numerator and denominator."""

    numerator: np.ndarray  # [B]
    denominator: np.ndarray  # [B]

    def value(self) -> float:
        """The metric over all series; NaN if it is undefined for all of them."""
        return float(self.resampled(np.ones((1, len(self.numerator))))[0])

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        """The metric [R] with each series counted as often as `counts` [R, B] says."""
        numerator, denominator = counts @ self.numerator, counts @ self.denominator
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(denominator > 0, numerator / denominator, np.nan)


def mean_where_defined(values: np.ndarray, defined: np.ndarray) -> RatioOfSums:
    """The mean over the series for which a metric is defined."""
    return RatioOfSums(np.where(defined, values, 0.0), defined.astype(np.float64))


def pinball(y: np.ndarray, q: np.ndarray, level: float) -> np.ndarray:
    """rho_p(y, q) = max(p (y - q), (p - 1) (y - q)); at p = 0.9, underforecasting costs nine times as much."""
    return np.maximum(level * (y - q), (level - 1) * (y - q))


def scrps(y: np.ndarray, q: np.ndarray, levels: tuple[float, ...]) -> RatioOfSums:
    """mean over p of [ sum 2 rho_p(y, q_p) / sum |y| ], sums over all series and steps (equation 2, pooled).

    Also known as the weighted quantile loss (WQL) and mean_weighted_sum_quantile_loss.
    """
    columns = zip(np.moveaxis(q, -1, 0), levels, strict=True)
    losses = np.mean([2 * pinball(y, column, level) for column, level in columns], axis=0)
    return RatioOfSums(losses.sum(axis=-1), np.abs(y).sum(axis=-1))


def nd(y: np.ndarray, f: np.ndarray) -> RatioOfSums:
    """sum |y - f| / sum |y|, pooled: the sCRPS of a point forecast."""
    return RatioOfSums(np.abs(y - f).sum(axis=-1), np.abs(y).sum(axis=-1))


def mase_pooled(y: np.ndarray, f: np.ndarray, naive: np.ndarray) -> RatioOfSums:
    """sum |y - f| / sum |y - naive forecast|, sums over all series and steps (equation 3)."""
    return RatioOfSums(np.abs(y - f).sum(axis=-1), np.abs(y - naive).sum(axis=-1))


def naive_scale(history: np.ndarray, season: int) -> float:
    """mean |y_t - y_(t-m)| over the history; m = 1 if the history is not longer than a season."""
    lag = season if len(history) > season else 1
    return float(np.mean(np.abs(history[lag:] - history[:-lag]))) if len(history) > lag else 0.0


def naive_scales(histories: list[np.ndarray], season: int) -> np.ndarray:
    """naive_scale of each series: [B]."""
    return np.array([naive_scale(y, season) for y in histories], dtype=float)


def mase(y: np.ndarray, f: np.ndarray, scales: np.ndarray) -> RatioOfSums:
    """mean over series of [ mean |y - f| / naive_scale ]; series with scale 0 are left out (Hyndman, Koehler)."""
    defined = scales > 0
    return mean_where_defined(np.mean(np.abs(y - f), axis=-1) / np.where(defined, scales, 1.0), defined)


def smape(y: np.ndarray, f: np.ndarray) -> RatioOfSums:
    """mean of 200 |y - f| / (|y| + |f|), in per cent from 0 to 200, as in M4; 0 where both are 0."""
    size = np.abs(y) + np.abs(f)
    errors = 200 * np.abs(y - f) / np.where(size > 0, size, 1.0)
    return mean_where_defined(errors.mean(axis=-1), np.ones(len(y), bool))


def owa(smape: np.ndarray, mase: np.ndarray, naive2_smape: np.ndarray, naive2_mase: np.ndarray) -> np.ndarray:
    """(sMAPE / sMAPE of Naive2 + MASE / MASE of Naive2) / 2, from scores of whole data sets, as in M4."""
    return (smape / naive2_smape + mase / naive2_mase) / 2


def coverage(y: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> RatioOfSums:
    """The share of values inside their interval, bounds included."""
    return RatioOfSums(np.mean((lower <= y) & (y <= upper), axis=-1), np.ones(len(y)))


def width(y: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> RatioOfSums:
    """sum (upper - lower) / sum |y|: the mean width in units of the mean |y|, pooled as in sCRPS."""
    return RatioOfSums((upper - lower).sum(axis=-1), np.abs(y).sum(axis=-1))


def coverage_difference(coverages: dict[int, np.ndarray]) -> np.ndarray:
    """mean over intervals of |coverage - nominal|; the keys of `coverages` are nominal levels in per cent."""
    return np.mean([np.abs(found - nominal / 100) for nominal, found in coverages.items()], axis=0)


@overload
def geometric_mean(ratios: np.ndarray, axis: int) -> np.ndarray: ...


@overload
def geometric_mean(ratios: pd.DataFrame, axis: int) -> pd.Series: ...


def geometric_mean(ratios: np.ndarray | pd.DataFrame, axis: int) -> np.ndarray | pd.Series:
    """exp(mean(log(ratios))) along an axis."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(np.log(ratios).mean(axis=axis))
