"""Intervals calibrated on the past of all series: wider if those of the last horizon were too narrow.

The errors of one series' intervals say nothing about its next ones. The common error of many similar series persists in
part; the rest is due to the years that they share, which are over (research/log.md).
"""

import numpy as np

from fimjax.nn.quantile_head import median_index

PERSISTENCE = 0.5
"""Share of the common error of many series' intervals that is expected to persist."""

MIN_HISTORY = 4
"""Observations that a series needs before its last horizon to be counted."""

HALF_TRUST = 20
"""The number of series for which the correction is halved, because the error of few series is chance."""

MAX_FACTOR = 3.0
"""Largest widening or narrowing before it is shrunk."""


def width_factor(predictions: np.ndarray, observed: np.ndarray, levels: tuple[float, ...], series: int) -> float:
    """The factor by which the distances of quantiles from their median are to be multiplied.

    Args:
        predictions: [rows, L], quantiles of the last horizon of some series, forecast from the rows before it.
        observed: [rows], the values of that horizon; NaN = missing.
        levels: the L levels.
        series: how many series these are.
    """
    present = np.isfinite(observed)
    predictions, observed = predictions[present], observed[present]
    if not len(observed):
        return 1.0
    median = predictions[:, median_index(levels)]
    half_width = np.where(observed > median, predictions[:, -1] - median, median - predictions[:, 0])
    distance = np.abs(observed - median)
    near = distance < MAX_FACTOR * half_width
    missed = np.where(near, distance / np.where(near, half_width, 1.0), MAX_FACTOR)
    missed = np.where(distance > 0, missed, 0.0)  # a constant series that stays constant
    needed = np.quantile(missed, levels[-1] - levels[0])
    return float(np.maximum(needed, 1 / MAX_FACTOR) ** (PERSISTENCE * series / (series + HALF_TRUST)))


def widen(quantiles: np.ndarray, levels: tuple[float, ...], factor: float) -> np.ndarray:
    """Quantiles [rows, L] with their distances from the median multiplied by a factor."""
    median = quantiles[:, median_index(levels), None]
    return median + factor * (quantiles - median)
