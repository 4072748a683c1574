"""Horizons beyond the longest window that a model was trained on: whole windows, one after the other."""

from collections.abc import Callable

import numpy as np

from fimjax.forecasting.engine import Request

Ask = Callable[[list[Request]], list[np.ndarray]]
"""Answers requests, [Q, L] each."""


def roll_out(ask: Ask, requests: list[Request], longest: int, median: int) -> list[np.ndarray]:
    """Answers requests whose queries may lie beyond their window.

    The medians at the regular steps of a window are taken for observed, and the next window is forecast from them. The
    model then thinks itself as sure as of the first window, so that what was uncertain at the end of the last window is
    added to what it says of the next one: variances add, and intervals never narrow from one window to the next.

    Args:
        longest: the most steps that a window may last.
        median: which of the L outputs is the point forecast.
    """
    requests = [r._replace(steps=min(r.steps, longest)) for r in requests]
    answers = [np.full((len(r.queries), 0), np.nan) for r in requests]
    state = {i: (r, 0.0, None) for i, r in enumerate(requests)}  # request, time passed, spread at the window's end
    while state:
        order = list(state)
        asked = []
        for i in order:
            request, passed, _ = state[i]
            grid = np.arange(1.0, request.steps + 1)
            asked.append(request._replace(queries=np.concatenate([_within(requests[i], passed, request), grid])))
        for i, out in zip(order, ask(asked)):
            request, passed, spread = state.pop(i)
            count = len(out) - request.steps
            point = out[:, [median]]
            offsets = out - point if spread is None else np.sign(out - point) * np.hypot(out - point, spread)
            out = point + offsets
            if answers[i].shape[1] == 0:
                answers[i] = np.full((len(requests[i].queries), out.shape[1]), np.nan)
            answers[i][_mask(requests[i], passed, request)] = out[:count]
            if requests[i].queries.max(initial=0.0) > passed + request.steps:
                grid = np.arange(1.0, request.steps + 1)
                times = np.concatenate([request.times, grid]) - request.steps
                values = np.concatenate([request.values, point[count:, 0]])
                state[i] = (
                    request._replace(times=times, values=values),
                    passed + request.steps,
                    np.abs(offsets[-1]),
                )
    return answers


def _mask(original: Request, passed: float, window: Request) -> np.ndarray:
    """Which queries lie in the window that begins when `passed` steps have passed."""
    first = -np.inf if passed == 0 else passed
    return (original.queries > first) & (original.queries <= passed + window.steps)


def _within(original: Request, passed: float, window: Request) -> np.ndarray:
    """The queries of a window, counted from its beginning."""
    return original.queries[_mask(original, passed, window)] - passed
