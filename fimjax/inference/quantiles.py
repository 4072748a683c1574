"""Quantiles at any level from those at the levels that a model was trained on."""

from statistics import NormalDist

import numpy as np

HUGE = 2.0**40
"""A power of two, by which numbers are divided without losing a digit."""

LARGEST = np.finfo(np.float64).max


def interpolate_quantiles(quantiles: np.ndarray, trained: tuple[float, ...], wanted: tuple[float, ...]) -> np.ndarray:
    """Reads quantiles off the line through the trained ones, drawn on normal probability paper.

    Between two trained levels it is their straight connection; beyond the outermost ones the tail goes on as that of
    a normal distribution through the last two, so it never ends and never crosses. A model without quantiles knows no
    uncertainty: its value stands for all levels.

    Args:
        quantiles: [..., L], rising; L = 1 for a value.
        trained: the L levels, or () for a value.
        wanted: levels in (0, 1).

    Returns:
        [..., len(wanted)]
    """
    if len(trained) < 2:
        return np.repeat(quantiles, len(wanted), axis=-1)
    z, x = (np.array([NormalDist().inv_cdf(level) for level in levels]) for levels in (trained, wanted))
    order = np.argsort(x, kind="stable")
    left = np.clip(np.searchsorted(z, x[order], side="right") - 1, 0, len(z) - 2)
    share = (x[order] - z[left]) / (z[left + 1] - z[left])
    # Far from the largest number, so that neither a difference nor a tail is infinite.
    unit = HUGE if np.abs(quantiles).max(initial=0.0) > LARGEST / HUGE else 1.0
    quantiles = quantiles / unit
    low, high = quantiles[..., left], quantiles[..., left + 1]
    found = low + share * (high - low)
    # What rises but for rounding is made to rise: past no neighbour, and past no other level.
    found = np.clip(found, np.where(share < 0, -LARGEST / unit, low), np.where(share > 1, LARGEST / unit, high))
    rising = np.maximum.accumulate(found, axis=-1) * unit
    return rising[..., np.argsort(order)]
