"""The benchmark's metrics, each a few lines with its formula.

Axis letters: N series, h steps, L quantile levels. y is the test part, f the point forecast, q the forecast quantiles.

Every metric here is a sum over series divided by another, so each function returns a series' share of both. A pooled
metric shares what it pools; a metric per series shares its value and 1, or 0 and 0 where it is undefined.
"""

import dataclasses
from typing import Any

import numpy as np

from fimjax.evaluation.forecasts import LEVELS

SCORED = tuple(i for i, level in enumerate(LEVELS) if 0.1 - 1e-9 <= level <= 0.9 + 1e-9)
"""Of LEVELS, the ones that sCRPS averages: 0.1, 0.2, ..., 0.9."""


@dataclasses.dataclass(frozen=True)
class Shares:
    """What each series adds to a metric's numerator and denominator."""

    numerator: np.ndarray  # [N]
    denominator: np.ndarray  # [N]

    def value(self) -> float:
        """The metric over all series; NaN where it is defined for none."""
        return float(self.resampled(np.ones((1, len(self.numerator))))[0])

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        """The metric with each series counted as often as `counts` [R, N] says: [R]."""
        numerator, denominator = counts @ self.numerator, counts @ self.denominator
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(denominator > 0, numerator / denominator, np.nan)


def mean_of_defined(values: np.ndarray, defined: np.ndarray) -> Shares:
    """The mean over the series for which a metric is defined."""
    return Shares(np.where(defined, values, 0.0), defined.astype(np.float64))


def pinball(y: np.ndarray, q: np.ndarray, level: float) -> np.ndarray:
    """rho_p(y, q) = max(p (y - q), (p - 1) (y - q)): at level 0.9 a forecast too low costs nine times one too high."""
    return np.maximum(level * (y - q), (level - 1) * (y - q))


def scrps(y: np.ndarray, q: np.ndarray, levels: tuple[float, ...]) -> Shares:
    """mean over p of [ sum 2 rho_p(y, q_p) / sum |y| ], sums over all series and steps (equation 2, pooled).

    Also known as the weighted quantile loss (WQL) and mean_weighted_sum_quantile_loss.
    """
    columns = zip(np.moveaxis(q, -1, 0), levels, strict=True)
    losses = np.mean([2 * pinball(y, column, level) for column, level in columns], axis=0)
    return Shares(losses.sum(axis=-1), np.abs(y).sum(axis=-1))


def nd(y: np.ndarray, f: np.ndarray) -> Shares:
    """sum |y - f| / sum |y|, pooled: the sCRPS of a forecast without any width."""
    return Shares(np.abs(y - f).sum(axis=-1), np.abs(y).sum(axis=-1))


def mase_pooled(y: np.ndarray, f: np.ndarray, naive: np.ndarray) -> Shares:
    """sum |y - f| / sum |y - naive forecast|, sums over all series and steps (equation 3)."""
    return Shares(np.abs(y - f).sum(axis=-1), np.abs(y - naive).sum(axis=-1))


def naive_scale(history: np.ndarray, season: int) -> float:
    """mean |y_t - y_(t-m)| over the history; with m = 1 where the history is no longer than a season."""
    lag = season if len(history) > season else 1
    return float(np.mean(np.abs(history[lag:] - history[:-lag]))) if len(history) > lag else 0.0


def mase(y: np.ndarray, f: np.ndarray, scales: np.ndarray) -> Shares:
    """mean over series of [ mean |y - f| / naive_scale ]; series of scale 0 are left out (Hyndman and Koehler)."""
    defined = scales > 0
    return mean_of_defined(np.mean(np.abs(y - f), axis=-1) / np.where(defined, scales, 1.0), defined)


def smape(y: np.ndarray, f: np.ndarray) -> Shares:
    """mean of 200 |y - f| / (|y| + |f|), in per cent from 0 to 200, as in M4; 0 where both are 0."""
    size = np.abs(y) + np.abs(f)
    errors = 200 * np.abs(y - f) / np.where(size > 0, size, 1.0)
    return mean_of_defined(errors.mean(axis=-1), np.ones(len(y), bool))


def owa(smape: float, mase: float, naive2_smape: float, naive2_mase: float) -> float:
    """(sMAPE / sMAPE of Naive2 + MASE / MASE of Naive2) / 2, of whole data sets, as in M4."""
    return (smape / naive2_smape + mase / naive2_mase) / 2


def coverage(y: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Shares:
    """The share of points within their interval, bounds included."""
    return Shares(np.mean((lower <= y) & (y <= upper), axis=-1), np.ones(len(y)))


def width(y: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Shares:
    """sum (upper - lower) / sum |y|: the mean width in units of the data's mean size, pooled as sCRPS is."""
    return Shares((upper - lower).sum(axis=-1), np.abs(y).sum(axis=-1))


def coverage_difference(coverages: dict[int, np.ndarray]) -> np.ndarray:
    """mean over intervals of |coverage - nominal|; `coverages` maps a nominal per cent to coverage."""
    return np.mean([np.abs(found - nominal / 100) for nominal, found in coverages.items()], axis=0)


def naive_scales(histories: list[np.ndarray], season: int) -> np.ndarray:
    """naive_scale of each series: [N]."""
    return np.array([naive_scale(y, season) for y in histories], dtype=float)


def geometric_mean(ratios: Any, axis: int) -> Any:
    """exp(mean(log(ratios))), of an array or a frame."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(np.log(ratios).mean(axis=axis))
