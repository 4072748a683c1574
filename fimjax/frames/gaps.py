"""The stamps that a regular series lacks."""

from typing import Any, NamedTuple

import numpy as np

from fimjax.errors import InputError
from fimjax.frames.frequency import Frequency
from fimjax.frames.inputs import Inputs

MOST_STAMPS = 10_000_000
"""Of one series: more is a wrong frequency, or a wrong date."""

ON_THE_GRID = 1e-3
"""How far from a whole step the stamps of a regular series may be."""


REGULAR = 0.8
"""Share of stamps on whole steps from which on a series has gaps."""


class Filled(NamedTuple):
    """N series with a row, without a value, for each step that no row was near to."""

    stamps: list[np.ndarray]
    values: list[np.ndarray]
    positions: list[np.ndarray]  # in steps, the last one 0


def insert_missing_timestamps(inputs: Inputs) -> Filled:
    """Series without gaps in their rows; those that are mostly irregular as they are."""
    panel, frequency = inputs.panel, inputs.frequency
    rows = zip(panel.ids, panel.stamps, panel.values, inputs.positions())
    return Filled(*zip(*(_fill(*row, frequency) for row in rows)))


def _fill(id: Any, stamps: np.ndarray, values: np.ndarray, positions: np.ndarray, frequency: Frequency) -> tuple:
    """Stamps, values and positions [m] of one series, from those [n] that it has."""
    steps = int(round(-positions[0]))
    regular = np.abs(positions - positions.round()) <= ON_THE_GRID
    if steps + 1 == len(stamps) and regular.all() or regular.mean() < REGULAR or not regular[0]:
        return stamps, values, positions
    if steps >= MOST_STAMPS:
        raise InputError(f"series {id!r} has {len(stamps)} rows in {steps} steps of {frequency}: give freq")
    grid = np.concatenate([stamps[:1], frequency.stamps_after(stamps[0], steps)])
    empty = np.ones(len(grid), bool)
    empty[np.clip((positions.round() + steps).astype(np.int64), 0, steps)] = False
    added = np.flatnonzero(empty)
    columns = (stamps, grid[added]), (values, np.full(len(added), np.nan)), (positions, added - float(steps))
    order = np.argsort(np.concatenate(columns[0]), kind="stable")
    return tuple(np.concatenate(parts)[order] for parts in columns)
