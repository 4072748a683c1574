"""Horizons beyond the longest window that a model was trained on: whole windows, one after the other."""

from collections.abc import Callable

import numpy as np

from fimjax.inference.engine import Request
from fimjax.inference.quantiles import LARGEST

Ask = Callable[[list[Request]], list[np.ndarray]]
"""Answers requests, [Q, columns] each."""

SLACK = 1e-6
"""How far beyond a window's last step, by rounding, a time may be that is that step."""


def roll_out(ask: Ask, requests: list[Request], median: int, outputs: int) -> list[np.ndarray]:
    """Answers requests whose queries may lie beyond their window.

    The medians at the regular steps of a window are taken for observed, and the next window is forecast from them. The
    model then thinks itself as sure as of the first window, so that the widest that it was in the last window is added
    to what it says of the next one: variances add, and intervals never narrow from one window to the next.

    Args:
        median: which of the outputs is the point forecast.
        outputs: how many columns are quantiles; what comes after them (slopes) is left as it is.
    """
    if not any(_goes_on(r, 0.0, r) for r in requests):
        return ask(requests)
    answers = [np.empty(0)] * len(requests)
    state = {i: (r, 0.0, None) for i, r in enumerate(requests)}  # request, time passed, spread of the last window
    while state:
        order = list(state)
        asked = []
        for i in order:
            request, passed, _ = state[i]
            # Only what goes on needs the whole window; a short request stays short.
            grid = _grid(request) if _goes_on(requests[i], passed, request) else np.empty(0)
            asked.append(request._replace(queries=np.concatenate([_within(requests[i], passed, request), grid])))
        for i, sent, out in zip(order, asked, ask(asked)):
            request, passed, spread = state.pop(i)
            out[:, :outputs] = _widen(out[:, :outputs], median, spread)
            if passed == 0:
                answers[i] = np.full((len(requests[i].queries), out.shape[1]), np.nan)
            here = _mask(requests[i], passed, request)
            count = int(here.sum())
            answers[i][here] = out[:count]
            if count < len(sent.queries):
                times = np.concatenate([request.times, _grid(request)]) - request.steps
                values = np.concatenate([request.values, np.maximum(out[count:, median], request.floor)])
                with np.errstate(over="ignore"):
                    spread = np.abs(out[count:, :outputs] - out[count:, [median]]).max(axis=0).clip(max=LARGEST)
                state[i] = (request._replace(times=times, values=values), passed + request.steps, spread)
    return answers


def _widen(quantiles: np.ndarray, median: int, spread: np.ndarray | None) -> np.ndarray:
    """Quantiles [Q, L] with the spread [L] of what they follow."""
    if spread is None:
        return quantiles
    point = quantiles[:, [median]]
    with np.errstate(over="ignore"):
        wider = point + np.sign(quantiles - point) * np.hypot(quantiles - point, spread)
    return np.clip(wider, -LARGEST, LARGEST)


def _grid(request: Request) -> np.ndarray:
    """The regular steps of a window."""
    return np.arange(1.0, request.steps + 1)


def _goes_on(original: Request, passed: float, window: Request) -> bool:
    return bool(original.queries.max(initial=0.0) > passed + window.steps + SLACK)


def _mask(original: Request, passed: float, window: Request) -> np.ndarray:
    """Which queries lie in the window that begins when `passed` steps have passed."""
    first = -np.inf if passed == 0 else passed + SLACK
    return (original.queries > first) & (original.queries <= passed + window.steps + SLACK)


def _within(original: Request, passed: float, window: Request) -> np.ndarray:
    """The queries of a window, counted from its beginning."""
    return original.queries[_mask(original, passed, window)] - passed
