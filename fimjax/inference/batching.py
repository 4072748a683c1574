"""Any number of series through a handful of compiled functions.

Shapes are rounded up to powers of two and batches to a few sizes, so that series of all lengths share compiled
functions. Padding is masked, so a prediction does not depend on the other series of its batch.
"""

import functools
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from fimjax.config import Config
from fimjax.files import user_cache
from fimjax.inference.predict import PredictFunction, inference_config, with_slopes
from fimjax.inference.quantiles import LARGEST
from fimjax.inference.request import SeriesRequest, in_chunks
from fimjax.models import Params
from fimjax.nn.quantile_head import head_size

BATCHES = (8, 32)
"""Batch sizes that are compiled. The activations of 32 series fit into a processor's cache."""

MIN_POINTS, MIN_QUERIES, MIN_SLOTS = 32, 8, 8
"""Smallest shapes: below them, compiling another function costs more than padding."""

SLOT_STEP = 4
"""Slots of a window are rounded up to multiples of this, not to powers of two, because they cost the most."""

MAX_QUERIES = 256
"""Most query times of a series in one batch; more are split."""

MAX_POINTS = 4096
"""Most points of a series that are read; of more, an evenly spaced part."""


class Network(NamedTuple):
    """A model with its parameters on the device."""

    config: Config
    params: Params
    slopes: bool = False
    """Whether derivatives by query time are wanted too."""

    @property
    def outputs(self) -> int:
        """Predicted numbers at each time: L quantiles, or one value."""
        return head_size(self.config.model.quantile_levels)

    @property
    def columns(self) -> int:
        """The outputs, and their slopes after them if these are wanted."""
        return self.outputs * (2 if self.slopes else 1)


class Scaled(NamedTuple):
    """A request in units that float32 can hold."""

    request: SeriesRequest
    """Values from -1 to 1; the floor is -inf if a value lies below it."""
    shift: float
    scale: float
    shape: tuple[int, int, int]
    """Points, query times and slots of a window, each rounded up."""


def use_compile_cache() -> None:
    """Keeps compiled functions in the user's cache between processes, unless JAX is configured otherwise."""
    settings: Any = jax.config
    if settings.jax_compilation_cache_dir is not None or not settings.jax_enable_compilation_cache:
        return
    jax.config.update("jax_compilation_cache_dir", str(user_cache() / "programs"))
    # Each of ours takes a second or more to compile, and there are few.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


@functools.cache
def compiled(function: PredictFunction) -> Callable[..., jax.Array]:
    """A predict function, compiled for each config and shape that it is called with."""
    return jax.jit(function, static_argnums=0)


def predict_batched(
    function: PredictFunction, network: Network, requests: Iterable[SeriesRequest]
) -> Iterator[np.ndarray]:
    """The predictions [Q, columns] of a function for each request, in order, in the units of each series.

    The times of each request are counted from its last observation.
    """
    counts: deque[int] = deque()

    def pieces() -> Iterator[SeriesRequest]:
        for request in requests:
            parts = np.array_split(request.query_times, max(1, -(-len(request.query_times) // MAX_QUERIES)))
            counts.append(len(parts))
            yield from (replace(request, query_times=part) for part in parts)

    found = (out for chunk in in_chunks(pieces()) for out in _predict_chunk(function, network, chunk))
    for first in found:
        parts = [first, *itertools.islice(found, counts.popleft() - 1)]
        yield first if len(parts) == 1 else np.concatenate(parts)


def _predict_chunk(function: PredictFunction, network: Network, chunk: list[SeriesRequest]) -> list[np.ndarray]:
    """Predictions of requests, batched by shape."""
    run = compiled(with_slopes(function) if network.slopes else function)
    config = inference_config(network.config)
    scaled = [scale_request(request, config.windows.slots) for request in chunk]
    by_shape = defaultdict(list)
    for i, series in enumerate(scaled):
        by_shape[series.shape].append(i)
    predictions: list[np.ndarray] = [np.empty(0)] * len(chunk)
    for (points, queries, slots), members in by_shape.items():
        for first in range(0, len(members), BATCHES[-1]):
            batch = members[first : first + BATCHES[-1]]
            size = next(size for size in BATCHES if size >= len(batch))
            arrays = _pad([scaled[i].request for i in batch], size, points, queries)
            out = np.asarray(run(config.with_slots(slots), network.params, *arrays), np.float64)
            for row, i in enumerate(batch):
                predictions[i] = _restore(out[row, : len(chunk[i].query_times)], scaled[i], network.outputs)
    return predictions


def scale_request(request: SeriesRequest, slots: int) -> Scaled:
    """Removes the level and size of a series in float64, and finds the shapes that have room for it.

    The model does not depend on either except for rounding, so values near 1e12 that differ in the last digits, or
    near 1e-40, survive the conversion to float32.

    Args:
        slots: most points in a window.
    """
    times, values = request.times, request.values
    if len(times) > MAX_POINTS:
        kept = np.linspace(0, len(times) - 1, MAX_POINTS).round().astype(int)
        times, values = times[kept], values[kept]
    # Halves, so that the range of the largest numbers does not overflow.
    low, high = np.min(values), np.max(values)
    shift, scale = low / 2 + high / 2, high / 2 - low / 2
    if request.window_steps is not None:
        fullest = int(np.bincount(((0.5 - times) / request.window_steps).astype(np.int64)).max())
        slots = min(max(-(-fullest // SLOT_STEP) * SLOT_STEP, MIN_SLOTS), slots)
    shape = (_round_up(len(times), MIN_POINTS), _round_up(len(request.query_times), MIN_QUERIES), slots)
    unit = scale if scale > 0 else 1.0
    with np.errstate(over="ignore"):  # a floor too far away for float32 counts as unknown
        floor = float(np.float32((request.floor - shift) / unit)) if request.floor <= low else -np.inf
    scaled = replace(request, times=times, values=(values - shift) / unit, floor=floor)
    return Scaled(scaled, float(shift), float(scale), shape)


def _restore(out: np.ndarray, series: Scaled, outputs: int) -> np.ndarray:
    """Predictions [Q, columns] in the units of the series; slopes have no level."""
    level = np.where(np.arange(out.shape[-1]) < outputs, series.shift, 0.0)
    with np.errstate(over="ignore"):
        return np.clip(level + series.scale * out, -LARGEST, LARGEST)


def _pad(requests: list[SeriesRequest], size: int, points: int, queries: int) -> list[np.ndarray]:
    """The arrays of a batch, with masked padding."""
    times, values = (np.zeros((size, points), np.float32) for _ in range(2))
    mask = np.zeros((size, points), bool)
    query_times = np.ones((size, queries), np.float32)
    steps, season = np.ones(size, np.int32), np.ones(size, np.int32)
    floor = np.full(size, -np.inf, np.float32)
    for row, request in enumerate(requests):
        n = len(request.times)
        times[row, :n], values[row, :n], mask[row, :n] = request.times, request.values, True
        query_times[row, : len(request.query_times)] = request.query_times
        steps[row], season[row], floor[row] = request.window_steps or 1, request.season, request.floor
    return [times, values, mask, steps, season, query_times, floor]


def _round_up(n: int, least: int) -> int:
    """The next power of two that is at least `least`."""
    return max(least, 1 << max(n - 1, 0).bit_length())
