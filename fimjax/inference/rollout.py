"""Horizons beyond the model's longest window: whole windows, one after the other."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fimjax.inference.quantiles import LARGEST
from fimjax.inference.request import SeriesRequest

Predict = Callable[[list[SeriesRequest]], list[np.ndarray]]
"""Predictions [Q, columns] of requests within their windows."""

SLACK = 1e-6
"""How far a query time may lie beyond the last step of a window because of rounding."""


@dataclass
class _Window:
    """The next window of a series, and what its earlier windows left behind."""

    request: SeriesRequest
    """The history with the medians of earlier windows; times count from the beginning of this window."""
    steps: int
    passed: float = 0.0
    """Steps before this window."""
    spread: np.ndarray | None = None
    """[L], the widest distances of quantiles from the median in the last window."""

    def continues(self, query_times: np.ndarray) -> bool:
        """Whether query times lie beyond this window."""
        return bool(query_times.max(initial=0.0) > self.passed + self.steps + SLACK)

    def contains(self, query_times: np.ndarray) -> np.ndarray:
        """Which query times lie in this window."""
        first = -np.inf if self.passed == 0 else self.passed + SLACK
        return (query_times > first) & (query_times <= self.passed + self.steps + SLACK)

    def grid(self) -> np.ndarray:
        """The regular steps of this window."""
        return np.arange(1.0, self.steps + 1)


def roll_out(predict: Predict, requests: list[SeriesRequest], median: int, outputs: int) -> list[np.ndarray]:
    """Predicts at query times that may lie beyond a window.

    The medians at the regular steps of a window are taken as observations, and the next window is forecast from them.
    The model is then as certain as in the first window, so the widest distances from the median in the last window are
    added: variances add, and intervals never get narrower from one window to the next.

    Args:
        predict: predictions within a window.
        requests: with window_steps, and times counted from the last observation.
        median: which output is the point forecast.
        outputs: how many columns are quantiles; the columns after them (slopes) stay as they are.

    Returns:
        Predictions [Q, columns] for each request.
    """
    windows = {i: _Window(request, request.window_steps or 1) for i, request in enumerate(requests)}
    if not any(window.continues(requests[i].query_times) for i, window in windows.items()):
        return predict(requests)
    predictions = [np.empty(0)] * len(requests)
    while windows:
        sent = []
        for i, window in windows.items():
            query_times = requests[i].query_times
            within = query_times[window.contains(query_times)] - window.passed
            # Only series that continue need all steps of the window; short horizons stay cheap.
            grid = window.grid() if window.continues(query_times) else np.empty(0)
            sent.append(replace(window.request, query_times=np.concatenate([within, grid])))
        current, windows = windows, {}
        for (i, window), wanted, out in zip(current.items(), sent, predict(sent)):
            out[:, :outputs] = _widen(out[:, :outputs], median, window.spread)
            if window.passed == 0:
                predictions[i] = np.full((len(requests[i].query_times), out.shape[1]), np.nan)
            here = window.contains(requests[i].query_times)
            count = int(here.sum())
            predictions[i][here] = out[:count]
            if count < len(wanted.query_times):
                windows[i] = _next_window(window, out[count:, :outputs], median)
    return predictions


def _next_window(window: _Window, grid_quantiles: np.ndarray, median: int) -> _Window:
    """The window after one whose quantiles at its regular steps are [steps, L]."""
    request = window.request
    times = np.concatenate([request.times, window.grid()]) - window.steps
    values = np.concatenate([request.values, np.maximum(grid_quantiles[:, median], request.floor)])
    with np.errstate(over="ignore"):
        spread = np.abs(grid_quantiles - grid_quantiles[:, [median]]).max(axis=0).clip(max=LARGEST)
    longer = replace(request, times=times, values=values)
    return _Window(longer, window.steps, window.passed + window.steps, spread)


def _widen(quantiles: np.ndarray, median: int, spread: np.ndarray | None) -> np.ndarray:
    """Quantiles [Q, L], widened by the spread [L] of the window before."""
    if spread is None:
        return quantiles
    point = quantiles[:, [median]]
    with np.errstate(over="ignore"):
        wider = point + np.sign(quantiles - point) * np.hypot(quantiles - point, spread)
    return np.clip(wider, -LARGEST, LARGEST)
