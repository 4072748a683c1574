"""One series to draw: its history, and the predictions for it."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from fimjax.plotting.predictions import ModelColumns, PredictedWindow


@dataclasses.dataclass(frozen=True)
class SeriesPlot:
    """One series with its predictions, drawn in one panel of the figure."""

    id: Any
    stamps: np.ndarray  # [T], strictly increasing
    values: np.ndarray  # [T], NaN = missing
    windows: Sequence[PredictedWindow] = ()
    target: str = "y"
    may_interpolate: bool = False
    """Whether the predictions can be an interpolation: they have no cut-offs and no anomalies."""

    @property
    def is_interpolation(self) -> bool:
        """Whether the predictions come with values of the history."""
        beside = (self.target in w.columns and w.stamps[0] <= self.stamps[-1] for w in self.windows)
        return self.may_interpolate and any(beside)

    def observed(self) -> tuple[np.ndarray, np.ndarray]:
        """The history, followed by later values that come with the predictions, such as those of a test."""
        later = {
            stamp: value
            for window in self.windows
            for stamp, value in zip(window.stamps, window.columns.get(self.target, ()))
            if stamp > self.stamps[-1] and np.isfinite(value)
        }
        stamps = np.array(sorted(later), dtype=self.stamps.dtype)
        values = np.array([later[stamp] for stamp in sorted(later)], dtype=np.float64)
        return np.concatenate([self.stamps, stamps]), np.concatenate([self.values, values])

    def gaps(self) -> list[tuple[np.generic, np.generic]]:
        """The last time before and the first after each run of missing values in an interpolation."""
        found = []
        for window in self.windows if self.is_interpolation else ():
            seen = np.flatnonzero(np.isfinite(window.columns[self.target]))
            apart = np.diff(seen) > 1
            # If no two adjacent rows have values, the times are between observations, and nothing is missing.
            if not apart.all():
                found += [(window.stamps[seen[i]], window.stamps[seen[i + 1]]) for i in np.flatnonzero(apart)]
        return found

    def flagged(self, model: ModelColumns) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of a model's anomalies."""
        stamps, values = [self.stamps[:0]], [self.values[:0]]
        for window in self.windows if model.anomaly is not None else ():
            if self.target in window.columns:
                found = window.columns[self.target]
            else:
                rows = np.searchsorted(self.stamps, window.stamps).clip(max=len(self.stamps) - 1)
                found = np.where(self.stamps[rows] == window.stamps, self.values[rows], np.nan)
            chosen = (window.columns[str(model.anomaly)] == 1) & np.isfinite(found)
            stamps.append(window.stamps[chosen])
            values.append(found[chosen])
        return np.concatenate(stamps), np.concatenate(values)

    def since(self, points: int) -> "SeriesPlot":
        """The part from the last `points` observed points of the history on."""
        observed = np.flatnonzero(np.isfinite(self.values))
        if len(observed) <= points:
            return self
        start = self.stamps[observed[-points]]
        windows = []
        for window in self.windows:
            kept = window.stamps >= start
            if kept.any():
                cutoff = None if window.cutoff is None or window.cutoff < start else window.cutoff
                windows.append(
                    PredictedWindow(window.stamps[kept], {k: x[kept] for k, x in window.columns.items()}, cutoff)
                )
        kept = self.stamps >= start
        return dataclasses.replace(self, stamps=self.stamps[kept], values=self.values[kept], windows=windows)
