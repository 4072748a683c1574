"""Windows of a backtest: where a series is cut, what is known before, and what comes after."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from fimjax.frames.inputs import Inputs
from fimjax.inference.batching import Asked


@dataclasses.dataclass(frozen=True)
class Split:
    """One window: rows before `cut` are known, `h` rows from there on are to be forecast."""

    series: int
    cut: int
    h: int

    def rows(self, arrays: list[np.ndarray]) -> np.ndarray:
        """The rows that are to be forecast, of arrays that have one for each series."""
        return arrays[self.series][self.cut : self.cut + self.h]


def last_splits(lengths: list[int], h: int, windows: int, step: int) -> list[Split]:
    """The last windows of each series, oldest first, a step apart, as far as there is a row before them.

    Args:
        lengths: rows of each series.
    """
    return [
        Split(i, cut, h)
        for i, n in enumerate(lengths)
        for back in range(min(windows - 1, (n - h - 1) // step), -1, -1)
        for cut in (n - h - step * back,)
    ]


def all_splits(lengths: list[int], h: int, least: int) -> list[Split]:
    """Windows that follow each other through each series, with at least so many rows before the first."""
    splits = []
    for i, n in enumerate(lengths):
        cuts = range(min(least, n), n, h)
        splits += [Split(i, cut, min(h, n - cut)) for cut in cuts]
    return splits


def known_before(inputs: Inputs, splits: list[Split], reach: int) -> Iterator[Asked]:
    """What each split knows and asks: of long series, only rows within the reach of a model, in steps."""
    ids, values, positions = inputs.panel.ids, inputs.panel.values, inputs.positions()
    observed = [np.flatnonzero(np.isfinite(x)) for x in values]
    for s in splits:
        times, seen = positions[s.series], observed[s.series]
        known = np.searchsorted(seen, s.cut)
        first = 0 if known == 0 else np.searchsorted(times, times[seen[known - 1]] - reach - 1)
        yield Asked(ids[s.series], times[first : s.cut], values[s.series][first : s.cut], s.rows(positions))
