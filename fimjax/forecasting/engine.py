"""Any number of series through a handful of compiled programs.

Shapes are rounded up to powers of two and batches to a few sizes, so that series of all lengths share programs; what is
added is masked, so an answer depends neither on its batch nor on its neighbours. Work comes and goes in chunks: memory
does not grow with the number of series.
"""

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import jax
import numpy as np

from fimjax.config import Config
from fimjax.forecasting.program import Params, Program, with_slopes
from fimjax.nn.head import head_size

CHUNK = 2048
"""Series that are held at a time."""

BATCHES = (8, 64, 256)
"""Batch sizes that are compiled."""

FEWEST_POINTS, FEWEST_QUERIES = 32, 8
"""Smallest shapes: below them, another program costs more than padding."""

MOST_POINTS = 4096
"""Of more points within the model's windows, an evenly spread part is read."""

LARGEST = np.finfo(np.float64).max


class Network(NamedTuple):
    """A FIM with its parameters, and whether it is asked for slopes besides its outputs."""

    config: Config
    params: Params
    slopes: bool = False

    @property
    def outputs(self) -> int:
        """Values that the model tells at each time: quantiles, or one."""
        return head_size(self.config.model.quantile_levels)

    @property
    def columns(self) -> int:
        """Numbers of each answer: the outputs, and their slopes after them if these are asked for."""
        return self.outputs * (2 if self.slopes else 1)


class Request(NamedTuple):
    """What a network is to read of one series, and when it is to answer."""

    times: np.ndarray  # [n], float64, in steps, rising, the last one 0
    values: np.ndarray  # [n], float64, finite
    steps: int  # steps that a window lasts
    season: int  # 1 = none or unknown
    queries: np.ndarray  # [Q], in steps after the last observation


class Prepared(NamedTuple):
    """The points of a request in units that float32 can hold."""

    times: np.ndarray
    values: np.ndarray
    shift: float
    scale: float


@functools.cache
def _compiled(program: Program):
    return jax.jit(program, static_argnums=0)


def answer(program: Program, network: Network, requests: Iterable[Request]) -> Iterator[np.ndarray]:
    """A program's answers [Q, columns] to requests, in their order, in the units of each series."""
    requests = iter(requests)
    while chunk := list(itertools.islice(requests, CHUNK)):
        yield from _answer_chunk(program, network, chunk)


def _answer_chunk(program: Program, network: Network, chunk: list[Request]) -> list[np.ndarray]:
    run = _compiled(with_slopes(program) if network.slopes else program)
    prepared = [prepare(request) for request in chunk]
    buckets = defaultdict(list)
    for place, (request, series) in enumerate(zip(chunk, prepared)):
        shape = _round_up(len(series.times), FEWEST_POINTS), _round_up(len(request.queries), FEWEST_QUERIES)
        buckets[shape].append(place)
    answers: list[np.ndarray] = [np.empty(0)] * len(chunk)
    for (points, queries), places in buckets.items():
        for batch in _batches(places):
            size = next(size for size in BATCHES if size >= len(batch))
            arrays = _pack([chunk[i] for i in batch], [prepared[i] for i in batch], size, points, queries)
            out = np.asarray(run(network.config, network.params, *arrays), np.float64)
            for row, place in enumerate(batch):
                answers[place] = _restore(out[row, : len(chunk[place].queries)], prepared[place], network.outputs)
    return answers


def prepare(request: Request) -> Prepared:
    """Takes out the series' level and size in float64.

    The model is indifferent to both but for rounding: numbers of 1e12 that differ in the last digits, or of 1e-40, come
    through.
    """
    times, values = request.times, request.values
    if len(times) > MOST_POINTS:
        spread = np.linspace(0, len(times) - 1, MOST_POINTS).round().astype(int)
        times, values = times[spread], values[spread]
    # Halves, so that the range of the largest numbers does not overflow.
    low, high = np.min(values), np.max(values)
    shift, scale = low / 2 + high / 2, high / 2 - low / 2
    return Prepared(times, (values - shift) / (scale if scale > 0 else 1.0), float(shift), float(scale))


def _restore(out: np.ndarray, series: Prepared, outputs: int) -> np.ndarray:
    """Answers [Q, columns] in the units of the series; slopes have no level."""
    level = np.where(np.arange(out.shape[-1]) < outputs, series.shift, 0.0)
    with np.errstate(over="ignore"):
        return np.clip(level + series.scale * out, -LARGEST, LARGEST)


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
