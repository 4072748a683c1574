"""Quantiles at any level from those at the levels that a model was trained on."""

from statistics import NormalDist

import numpy as np


def at_levels(quantiles: np.ndarray, trained: tuple[float, ...], wanted: tuple[float, ...]) -> np.ndarray:
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
    left = np.clip(np.searchsorted(z, x, side="right") - 1, 0, len(z) - 2)
    share = (x - z[left]) / (z[left + 1] - z[left])
    return quantiles[..., left] * (1 - share) + quantiles[..., left + 1] * share
