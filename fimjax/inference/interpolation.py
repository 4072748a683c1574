"""Windows over a long series, each interpolated by itself, and one smooth answer from where they overlap."""

from typing import NamedTuple

import numpy as np

from fimjax.inference.engine import Network

FAINT = 1e-6
"""Weight of a window at its very ends: nothing beside another window, all where there is no other."""


class Cut(NamedTuple):
    """One window of a series."""

    points: slice
    queries: np.ndarray  # places of the query times that lie in it
    first: float  # time of its first point
    last: float  # time of its last point


def cut_windows(times: np.ndarray, queries: np.ndarray, slots: int) -> list[Cut]:
    """Windows of `slots` points, each half over the next, as far as there are query times in them.

    Args:
        times: [n], rising; queries: [Q], within the times, in any order.
    """
    stride = max(slots // 2, 1)
    latest = max(len(times) - slots, 0)
    starts = np.unique(np.minimum(np.arange(0, latest + stride, stride), latest))
    order = np.argsort(queries, kind="stable")
    ends = np.minimum(starts + slots, len(times)) - 1
    low = np.searchsorted(queries, times[starts], side="left", sorter=order)
    high = np.searchsorted(queries, times[ends], side="right", sorter=order)
    return [
        Cut(slice(start, end + 1), order[a:b], float(times[start]), float(times[end]))
        for start, end, a, b in zip(starts, ends, low, high)
        if b > a
    ]


class Blend:
    """The weighted mean of windows' answers; a window's weight rises and falls smoothly from one end to the other.

    With s the weights and f the answers, the slope of (sum s f) / (sum s) needs those of both.
    """

    def __init__(self, queries: np.ndarray, network: Network):
        self.queries, self.outputs, self.slopes = queries, network.outputs, network.slopes
        self.total, self.total_slope = (np.zeros((len(queries), network.outputs)) for _ in range(2))
        self.weight, self.weight_slope = (np.zeros((len(queries), 1)) for _ in range(2))

    def add(self, cut: Cut, out: np.ndarray) -> None:
        """Takes a window's answers [q, columns] at its own query times."""
        length = cut.last - cut.first or 1.0
        turn = np.pi * (self.queries[cut.queries, None] - cut.first) / length
        weight, weight_slope = np.sin(turn) ** 2 + FAINT, np.sin(2 * turn) * np.pi / length
        values = out[:, : self.outputs]
        self.weight[cut.queries] += weight
        self.total[cut.queries] += weight * values
        if self.slopes:
            self.weight_slope[cut.queries] += weight_slope
            self.total_slope[cut.queries] += weight * out[:, self.outputs :] + weight_slope * values

    def result(self) -> np.ndarray:
        """[Q, columns]"""
        values = self.total / self.weight
        if not self.slopes:
            return values
        return np.concatenate([values, (self.total_slope - values * self.weight_slope) / self.weight], axis=-1)
