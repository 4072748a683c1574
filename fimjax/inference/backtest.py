"""Backtests: where series are split into history and test window, and requests that see only the history."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fimjax.frames.panel import Panel
from fimjax.inference.request import SeriesRequest, make_request


@dataclass(frozen=True)
class Split:
    """One test window: rows before `cut` are known, the next `h` rows are forecast."""

    series: int
    cut: int
    h: int

    def rows(self, arrays: list[np.ndarray]) -> np.ndarray:
        """The rows of the test window, from one array for each series."""
        return arrays[self.series][self.cut : self.cut + self.h]


def last_splits(lengths: list[int], h: int, windows: int, step: int) -> list[Split]:
    """The last test windows of each series, oldest first; windows without a row before them are left out.

    Args:
        lengths: rows of each series.
        step: rows from one window to the next.
    """
    return [
        Split(i, cut, h)
        for i, n in enumerate(lengths)
        for back in range(min(windows - 1, (n - h - 1) // step), -1, -1)
        for cut in (n - h - step * back,)
    ]


def all_splits(lengths: list[int], h: int, min_history: int) -> list[Split]:
    """Adjacent test windows through each series, after its first `min_history` rows."""
    splits = []
    for i, n in enumerate(lengths):
        cuts = range(min(min_history, n), n, h)
        splits += [Split(i, cut, min(h, n - cut)) for cut in cuts]
    return splits


def requests_before(panel: Panel, splits: list[Split], reach: int, floor: float) -> Iterator[SeriesRequest]:
    """A request for each split, with the rows before it.

    Args:
        reach: how many steps before the last observation a model reads at most; older rows are left out.
    """
    ids, values, positions = panel.ids, panel.values, panel.positions()
    observed = [np.flatnonzero(np.isfinite(x)) for x in values]
    for s in splits:
        times, seen = positions[s.series], observed[s.series]
        known = np.searchsorted(seen, s.cut)
        first = 0 if known == 0 else np.searchsorted(times, times[seen[known - 1]] - reach - 1)
        rows = slice(first, s.cut)
        yield make_request(ids[s.series], times[rows], values[s.series][rows], s.rows(positions), panel.season, floor)
