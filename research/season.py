"""A series taken apart: its level, its season, its errors."""

from typing import NamedTuple

import numpy as np

FEWEST_SEASONS = 4
"""Shorter series are not taken apart."""


class Parts(NamedTuple):
    """What a series is made of, beside its size."""

    strength: float  # of the season, 0 to 1: what it explains of what is left beside the level
    movement: float  # logarithm of how far the level goes in a season at its mean pace, if at random, in errors


def take_apart(y: np.ndarray, season: int) -> Parts | None:
    """The parts of the logarithms of a series; None if it is short, not positive, or has no errors."""
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
    errors = rest - pattern[phases]
    steps = np.abs(np.diff(level)).mean() * np.sqrt(season)
    if errors.std() <= 1e-6 * max(rest.std(), steps) or steps == 0.0:
        return None
    return Parts(max(0.0, 1.0 - errors.var() / rest.var()), float(np.log(steps / errors.std())))
