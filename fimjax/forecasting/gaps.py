"""The stamps that a regular series lacks."""

import numpy as np

from fimjax.forecasting.frequency import Frequency
from fimjax.forecasting.panel import InputError

MOST_STAMPS = 10_000_000
"""Of one series: more is a wrong frequency, or a wrong date."""

ON_THE_GRID = 1e-3
"""How far from a whole step the stamps of a regular series may be."""


REGULAR = 0.8
"""Share of stamps on whole steps from which on a series has gaps."""


def fill_stamps(id: object, stamps: np.ndarray, values: np.ndarray, positions: np.ndarray, frequency: Frequency):
    """A series with a row, without a value, for each step of its frequency that no row is near to.

    Args:
        stamps, values, positions: [n], the last one's position being 0.

    Returns:
        stamps and values [m]; those of a series that is mostly irregular as they are.
    """
    steps = int(round(-positions[0]))
    regular = np.abs(positions - positions.round()) <= ON_THE_GRID
    if steps + 1 == len(stamps) and regular.all() or regular.mean() < REGULAR or not regular[0]:
        return stamps, values
    if steps >= MOST_STAMPS:
        raise InputError(f"series {id!r} has {len(stamps)} rows in {steps} steps of {frequency}: give freq")
    grid = np.concatenate([stamps[:1], frequency.stamps_after(stamps[0], steps)])
    empty = np.ones(len(grid), bool)
    empty[np.clip((positions.round() + steps).astype(np.int64), 0, steps)] = False
    all_stamps = np.concatenate([stamps, grid[empty]])
    all_values = np.concatenate([values, np.full(empty.sum(), np.nan)])
    order = np.argsort(all_stamps, kind="stable")
    return all_stamps[order], all_values[order]
