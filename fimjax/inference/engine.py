"""Any number of series through a handful of compiled programs.

Shapes are rounded up to powers of two and batches to a few sizes, so that series of all lengths share programs; what is
added is masked, so an answer depends neither on its batch nor on its neighbours. Work comes and goes in chunks: memory
does not grow with the number of series.
"""

import dataclasses
import functools
import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import jax
import numpy as np

from fimjax.config import Config
from fimjax.inference.predict import Params, Program, reading, with_slopes
from fimjax.inference.quantiles import LARGEST
from fimjax.inference.views import View
from fimjax.nn.quantile_head import head_size

CHUNK, CHUNK_POINTS = 2048, 1_000_000
"""Series, and points of theirs, that are held at a time."""

BATCHES = (8, 32)
"""Batch sizes that are compiled: what is computed of 32 series at a time stays within a processor's cache."""

FEWEST_POINTS, FEWEST_QUERIES, FEWEST_SLOTS = 32, 8, 8
"""Smallest shapes: below them, another program costs more than padding."""

SLOT_STEP = 4
"""Slots of a window come in multiples of this: they cost the most, and series of one horizon need about as many."""

MOST_QUERIES = 256
"""Of more query times of one series, so many are asked at a time."""

MOST_POINTS = 4096
"""Of more points within the model's windows, an evenly spread part is read."""


class Network(NamedTuple):
    """A model with its parameters on the device, whether it is asked for slopes besides its outputs, how it looks, and
    whose forecasts are averaged with its own."""

    config: Config
    params: Params
    slopes: bool = False
    views: tuple[View, ...] = (View(),)
    others: tuple["Network", ...] = ()

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
    steps: int | None  # steps that a window lasts; None if all of it is one window
    season: int  # 1 = none or unknown
    queries: np.ndarray  # [Q], in steps after the last observation
    floor: float = -np.inf  # below which no value lies; -inf if it is unknown


class Prepared(NamedTuple):
    """The points of a request in units that float32 can hold."""

    times: np.ndarray
    values: np.ndarray
    shift: float
    scale: float
    floor: float  # -inf if it is unknown, or if a value lies below it
    shape: tuple[int, int, int]  # points, queries and slots of a window, each rounded up


@functools.cache
def _compiled(program: Program):
    return jax.jit(program, static_argnums=0)


def answer(program: Program, network: Network, requests: Iterable[Request]) -> Iterator[np.ndarray]:
    """A program's answers [Q, columns] to requests, in their order, in the units of each series."""
    counts: deque[int] = deque()

    def pieces() -> Iterator[Request]:
        for request in requests:
            parts = np.array_split(request.queries, max(1, -(-len(request.queries) // MOST_QUERIES)))
            counts.append(len(parts))
            yield from (request._replace(queries=part) for part in parts)

    found = _answer_pieces(program, network, pieces())
    for first in found:
        parts = [first, *itertools.islice(found, counts.popleft() - 1)]
        yield first if len(parts) == 1 else np.concatenate(parts)


def _answer_pieces(program: Program, network: Network, requests: Iterator[Request]) -> Iterator[np.ndarray]:
    while chunk := list(itertools.islice(requests, CHUNK)):
        yield from _answer_chunk(program, network, chunk)


def _answer_chunk(program: Program, network: Network, chunk: list[Request]) -> list[np.ndarray]:
    run = _compiled(with_slopes(program) if network.slopes else program)
    room = reading(network.config).prior.slots
    prepared = [prepare(request, room) for request in chunk]
    buckets = defaultdict(list)
    for place, series in enumerate(prepared):
        buckets[series.shape].append(place)
    answers: list[np.ndarray] = [np.empty(0)] * len(chunk)
    for (points, queries, slots), places in buckets.items():
        config = _with_slots(network.config, slots)
        for batch in _batches(places):
            size = next(size for size in BATCHES if size >= len(batch))
            arrays = _pack([chunk[i] for i in batch], [prepared[i] for i in batch], size, points, queries)
            out = np.asarray(run(config, network.params, *arrays), np.float64)
            for row, place in enumerate(batch):
                answers[place] = _restore(out[row, : len(chunk[place].queries)], prepared[place], network.outputs)
    return answers


@functools.cache
def _with_slots(config: Config, slots: int) -> Config:
    """The config with no more room in a window than is needed: empty slots cost as much as full ones."""
    return dataclasses.replace(config, prior=dataclasses.replace(config.prior, slots=slots))


def prepare(request: Request, slots: int) -> Prepared:
    """Takes out the series' level and size in float64, and finds the shapes that have room for it.

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
    points, queries = _round_up(len(times), FEWEST_POINTS), _round_up(len(request.queries), FEWEST_QUERIES)
    if request.steps is not None:
        fullest = int(np.bincount(((0.5 - times) / request.steps).astype(np.int64)).max())
        slots = min(max(-(-fullest // SLOT_STEP) * SLOT_STEP, FEWEST_SLOTS), slots)
    shape = (points, queries, slots)
    unit = scale if scale > 0 else 1.0
    with np.errstate(over="ignore"):  # a floor too far away to be told is none
        floor = float(np.float32((request.floor - shift) / unit)) if request.floor <= low else -np.inf
    return Prepared(times, (values - shift) / unit, float(shift), float(scale), floor, shape)


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
    floor = np.full(size, -np.inf, np.float32)
    for row, (request, kept) in enumerate(zip(requests, series)):
        n = len(kept.times)
        times[row, :n], values[row, :n], mask[row, :n] = kept.times, kept.values, True
        query_times[row, : len(request.queries)] = request.queries
        steps[row], season[row], floor[row] = request.steps or 1, request.season, kept.floor
    return [times, values, mask, steps, season, query_times, floor]


def _round_up(n: int, least: int) -> int:
    """The next power of two, from `least` on."""
    return max(least, 1 << max(n - 1, 0).bit_length())


def _batches(places: list[int]) -> Iterator[list[int]]:
    """Groups of at most the largest batch."""
    for first in range(0, len(places), BATCHES[-1]):
        yield places[first : first + BATCHES[-1]]
