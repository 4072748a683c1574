"""The stamps that a regular series lacks."""

import numpy as np

from fimjax.forecasting.frequency import Frequency
from fimjax.forecasting.panel import InputError

MOST_STAMPS = 10_000_000
"""Of one series: more is a wrong frequency, or a wrong date."""

ON_THE_GRID = 1e-3
"""How far from a whole step the stamps of a regular series may be."""


def fill_stamps(id: object, stamps: np.ndarray, values: np.ndarray, positions: np.ndarray, frequency: Frequency):
    """A series with a row, without a value, for each stamp of its frequency between two that it has.

    Args:
        stamps, values, positions: [n], the last one's position being 0.

    Returns:
        stamps and values [m]; those of an irregular series as they are.
    """
    steps = int(round(-positions[0]))
    if steps + 1 == len(stamps) or np.abs(positions - positions.round()).max() > ON_THE_GRID:
        return stamps, values
    if steps >= MOST_STAMPS:
        raise InputError(f"series {id!r} has {len(stamps)} rows in {steps} steps of {frequency}: give freq")
    grid = np.concatenate([stamps[:1], frequency.stamps_after(stamps[0], steps)])
    places = (positions.round() + steps).astype(np.int64)
    # The stamps that there are stay as they are, though a calendar may know them by another hour.
    grid[places] = stamps
    filled = np.full(len(grid), np.nan)
    filled[places] = values
    if (grid[1:] <= grid[:-1]).any():
        return stamps, values
    return grid, filled
