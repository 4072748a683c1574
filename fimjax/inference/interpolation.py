"""Long series cut into overlapping windows, each interpolated on its own, and blended into one smooth prediction."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fimjax.inference.request import SeriesRequest

EDGE_WEIGHT = 1e-6
"""Weight of a window at its ends: negligible beside another window, sufficient where there is no other."""


class Cut(NamedTuple):
    """One window of a series."""

    points: slice
    queries: np.ndarray
    """Indices of the query times in this window."""
    first: float
    """Time of the first point."""
    last: float
    """Time of the last point."""

    def request(self, series: SeriesRequest) -> SeriesRequest:
        """The part of a series in this window, with times counted from its last point."""
        return replace(
            series,
            times=series.times[self.points] - self.last,
            values=series.values[self.points],
            query_times=series.query_times[self.queries] - self.last,
            floor=-np.inf,
        )


def cut_windows(times: np.ndarray, query_times: np.ndarray, slots: int) -> list[Cut]:
    """Windows of `slots` points that overlap by half; windows without query times are left out.

    Args:
        times: [T], increasing; query_times: [Q], within the times, in any order.
    """
    stride = max(slots // 2, 1)
    latest = max(len(times) - slots, 0)
    starts = np.unique(np.minimum(np.arange(0, latest + stride, stride), latest))
    order = np.argsort(query_times, kind="stable")
    ends = np.minimum(starts + slots, len(times)) - 1
    low = np.searchsorted(query_times, times[starts], side="left", sorter=order)
    high = np.searchsorted(query_times, times[ends], side="right", sorter=order)
    return [
        Cut(slice(start, end + 1), order[a:b], float(times[start]), float(times[end]))
        for start, end, a, b in zip(starts, ends, low, high)
        if b > a
    ]


class Blend:
    """The weighted mean of the windows' predictions; a window's weight rises and falls smoothly between its ends.

    With weights s and predictions f, the slope of (sum s f) / (sum s) needs the slopes of both.
    """

    def __init__(self, query_times: np.ndarray, outputs: int, slopes: bool):
        self.query_times, self.outputs, self.slopes = query_times, outputs, slopes
        self.total, self.total_slope = (np.zeros((len(query_times), outputs)) for _ in range(2))
        self.weight, self.weight_slope = (np.zeros((len(query_times), 1)) for _ in range(2))

    def add(self, cut: Cut, out: np.ndarray) -> None:
        """Adds a window's predictions [Q, columns] at its own query times."""
        length = cut.last - cut.first or 1.0
        angle = np.pi * (self.query_times[cut.queries, None] - cut.first) / length
        weight, weight_slope = np.sin(angle) ** 2 + EDGE_WEIGHT, np.sin(2 * angle) * np.pi / length
        values = out[:, : self.outputs]
        self.weight[cut.queries] += weight
        self.total[cut.queries] += weight * values
        if self.slopes:
            self.weight_slope[cut.queries] += weight_slope
            self.total_slope[cut.queries] += weight * out[:, self.outputs :] + weight_slope * values

    def result(self) -> np.ndarray:
        """The blended predictions [Q, columns]."""
        values = self.total / self.weight
        if not self.slopes:
            return values
        return np.concatenate([values, (self.total_slope - values * self.weight_slope) / self.weight], axis=-1)
