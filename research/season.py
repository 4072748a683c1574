"""Splits a series into level, season and noise; used by `development` and `steadiness`."""

from typing import NamedTuple

import numpy as np

FEWEST_SEASONS = 4
"""Shorter series are not decomposed."""


class Parts(NamedTuple):
    """Strength of the season and movement of the level."""

    strength: float  # share of the variance around the level that the season explains, 0 to 1
    movement: float  # log of (mean absolute step of the level times sqrt(season), over the noise's deviation)


def decompose(y: np.ndarray, season: int) -> Parts | None:
    """Decomposes the logarithms of a series; None if it is short, not positive or without noise."""
    y = np.asarray(y, np.float64)
    if len(y) < FEWEST_SEASONS * season or season < 2 or not y.min() > 0:
        return None
    weights = np.convolve(np.ones(season), [0.5, 0.5]) / season
    logarithms = np.log(y)
    level = np.convolve(logarithms, weights, "valid")
    first = season // 2
    rest = logarithms[first : first + len(level)] - level
    phases = np.arange(len(rest)) % season
    pattern = np.bincount(phases, rest) / np.bincount(phases)
    noise = rest - pattern[phases]
    steps = np.abs(np.diff(level)).mean() * np.sqrt(season)
    if noise.std() <= 1e-6 * max(rest.std(), steps) or steps == 0.0:
        return None
    return Parts(max(0.0, 1.0 - noise.var() / rest.var()), float(np.log(steps / noise.std())))
