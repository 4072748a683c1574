"""Intervals by the past of all series together: wider where those of the last horizon were too narrow.

How far off the intervals of one series were says nothing of its next ones. What many series of one kind were off by in
common goes on in part; the rest is due to the years that they share, which are over (docs/accuracy.md).
"""

import numpy as np

from fimjax.nn.quantile_head import median_index

SHARE = 0.5
"""Of what the intervals of many series were off by, how much is expected to go on."""
LEAST_HISTORY = 4
"""Observations that a series needs before its last horizon to have a say."""
FEW = 20
"""So many series halve that share: of a few, it is chance."""
BOUND = 3.0
"""By which intervals are widened or narrowed at most, before the share is taken."""


def width_factor(answers: np.ndarray, truth: np.ndarray, levels: tuple[float, ...], series: int) -> float:
    """By what the distance of quantiles from their median is to be multiplied.

    Args:
        answers: [rows, L], quantiles of the last horizon of some series, forecast from what came before it.
        truth: [rows], what came; NaN where nothing was observed.
        levels: of the quantiles; series: how many there are.
    """
    observed = np.isfinite(truth)
    answers, truth = answers[observed], truth[observed]
    if not len(truth):
        return 1.0
    median = answers[:, median_index(levels)]
    half_width = np.where(truth > median, answers[:, -1] - median, median - answers[:, 0])
    distance = np.abs(truth - median)
    near = distance < BOUND * half_width
    missed = np.where(near, distance / np.where(near, half_width, 1.0), BOUND)
    missed = np.where(distance > 0, missed, 0.0)  # a constant that stays one
    needed = np.quantile(missed, levels[-1] - levels[0])
    return float(np.maximum(needed, 1 / BOUND) ** (SHARE * series / (series + FEW)))


def widen(answers: np.ndarray, levels: tuple[float, ...], factor: float) -> np.ndarray:
    """Quantiles [rows, L] so many times as far from their median."""
    median = answers[:, median_index(levels), None]
    return median + factor * (answers - median)
