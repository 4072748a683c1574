"""Any number of series through a handful of compiled programs.

Shapes are rounded up to powers of two and batches to a few sizes, so that series of all lengths share programs; what is
added is masked, so an answer depends neither on its batch nor on its neighbours. Work comes and goes in chunks: memory
does not grow with the number of series.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import jax
import numpy as np

from fimjax.config import Config
from fimjax.forecasting.program import Params, forecast_windows

CHUNK = 2048
"""Series that are held at a time."""

BATCHES = (8, 64, 256)
"""Batch sizes that are compiled."""

FEWEST_POINTS, FEWEST_QUERIES = 32, 8
"""Smallest shapes: below them, another program costs more than padding."""

MOST_POINTS = 4096
"""Of more points within the model's windows, an evenly spread part is read."""


class Request(NamedTuple):
    """What the model is to read of one series, and when it is to answer."""

    times: np.ndarray  # [n], float64, in steps, rising, the last one 0
    values: np.ndarray  # [n], float64, finite
    steps: int  # steps that a window lasts
    season: int  # 1 = none or unknown
    queries: np.ndarray  # [Q], in steps after the last observation


class Prepared(NamedTuple):
    """A request within the model's windows, in units that float32 can hold."""

    times: np.ndarray
    values: np.ndarray
    shift: float
    scale: float


_compiled = jax.jit(forecast_windows, static_argnums=0)


def answer(config: Config, params: Params, requests: Iterable[Request]) -> Iterator[np.ndarray]:
    """The model's answers [Q, L] to requests, in their order, in the units of each series."""
    requests = iter(requests)
    while chunk := list(itertools.islice(requests, CHUNK)):
        yield from _answer_chunk(config, params, chunk)


def _answer_chunk(config: Config, params: Params, chunk: list[Request]) -> list[np.ndarray]:
    prepared = [prepare(request, config.model.windows - 1) for request in chunk]
    buckets = defaultdict(list)
    for place, (request, series) in enumerate(zip(chunk, prepared)):
        shape = _round_up(len(series.times), FEWEST_POINTS), _round_up(len(request.queries), FEWEST_QUERIES)
        buckets[shape].append(place)
    answers: list[np.ndarray] = [np.empty(0)] * len(chunk)
    for (points, queries), places in buckets.items():
        for batch in _batches(places):
            size = next(size for size in BATCHES if size >= len(batch))
            arrays = _pack([chunk[i] for i in batch], [prepared[i] for i in batch], size, points, queries)
            out = np.asarray(_compiled(config, params, *arrays), np.float64)
            for row, place in enumerate(batch):
                series = prepared[place]
                answers[place] = series.shift + series.scale * out[row, : len(chunk[place].queries)]
    return answers


def prepare(request: Request, windows: int) -> Prepared:
    """Keeps what lies in the last `windows` windows, and takes out the series' level and size in float64.

    The model is indifferent to both but for rounding: numbers of 1e12 that differ in the last digits, or of 1e-40, come
    through.
    """
    inside = request.times > -(windows * request.steps) + 1e-9
    times, values = request.times[inside], request.values[inside]
    if len(times) > MOST_POINTS:
        spread = np.linspace(0, len(times) - 1, MOST_POINTS).round().astype(int)
        times, values = times[spread], values[spread]
    # Halves, so that the range of the largest numbers does not overflow.
    low, high = np.min(values), np.max(values)
    shift, scale = low / 2 + high / 2, high / 2 - low / 2
    return Prepared(times, (values - shift) / (scale if scale > 0 else 1.0), float(shift), float(scale))


def _pack(requests: list[Request], series: list[Prepared], size: int, points: int, queries: int) -> list[np.ndarray]:
    """Arrays of a batch, padded to their shapes with what the mask hides."""
    times, values = (np.zeros((size, points), np.float32) for _ in range(2))
    mask = np.zeros((size, points), bool)
    query_times = np.ones((size, queries), np.float32)
    steps, season = np.ones(size, np.int32), np.ones(size, np.int32)
    for row, (request, kept) in enumerate(zip(requests, series)):
        n = len(kept.times)
        times[row, :n], values[row, :n], mask[row, :n] = kept.times, kept.values, True
        query_times[row, : len(request.queries)] = request.queries
        steps[row], season[row] = request.steps, request.season
    return [times, values, mask, steps, season, query_times]


def _round_up(n: int, least: int) -> int:
    """The next power of two, from `least` on."""
    return max(least, 1 << max(n - 1, 0).bit_length())


def _batches(places: list[int]) -> Iterator[list[int]]:
    """Groups of at most the largest batch."""
    for first in range(0, len(places), BATCHES[-1]):
        yield places[first : first + BATCHES[-1]]
