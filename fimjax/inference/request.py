"""The one record of inference: what is observed of a series, and when its prediction is wanted."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from fimjax.errors import InputError
from fimjax.frames.panel import Panel

MAX_DISTANCE = 100_000
"""Most steps between a query time and the observations of its series."""

CHUNK_SERIES, CHUNK_POINTS = 2048, 1_000_000
"""Most series, and most points of these, that are held at a time: memory does not grow with the number of series."""

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False, slots=True)
class SeriesRequest:
    """One series: its observations, and the times at which it is predicted."""

    id: Any
    times: np.ndarray
    """[T], float64, increasing, in steps from any origin. Observed points only; may be empty."""
    values: np.ndarray
    """[T], float64, finite."""
    query_times: np.ndarray
    """[Q], float64, in steps from the same origin, in any order."""
    season: int = 1
    """Steps in a season, 1 = none or unknown."""
    floor: float = -np.inf
    """A bound that no value lies below; -inf if unknown."""
    window_steps: int | None = None
    """Steps in each of the model's windows; None if all points are one window."""


def make_request(
    id: Any, times: np.ndarray, values: np.ndarray, query_times: np.ndarray, season: int, floor: float
) -> SeriesRequest:
    """A request from the rows of a series, of which missing values are left out.

    Args:
        times: [n], in steps; values: [n], NaN = missing; query_times: [Q], in steps.

    Raises:
        InputError: if a query time is too far away.
    """
    observed = np.isfinite(values)
    times = times[observed]
    if len(times) and len(query_times):
        check_distance(id, max(query_times.max() - times[-1], times[0] - query_times.min()))
    # In backtests a known floor helps seasonal series and harms others (research/log.md).
    return SeriesRequest(id, times, values[observed], query_times, season, floor if season > 1 else -np.inf)


def requests_at(panel: Panel, query_stamps: Iterable[np.ndarray], floor: float = -np.inf) -> Iterator[SeriesRequest]:
    """The series of a panel with query times, in steps since the last row of each.

    Args:
        query_stamps: timestamps [Q] for each series.
    """
    rows = zip(panel.ids, panel.stamps, panel.values, query_stamps)
    # Many series at once, because every conversion to steps computes the calendar again.
    for chunk in in_chunks(rows, lambda row: len(row[1]) + len(row[3])):
        stamps = [x for _, known, _, queries in chunk for x in (known, queries)]
        origins = np.repeat([known[-1] for _, known, _, _ in chunk], [len(row[1]) + len(row[3]) for row in chunk])
        steps = panel.frequency.positions(np.concatenate(stamps), origins)
        parts = np.split(steps, np.cumsum([len(x) for x in stamps])[:-1])
        for (id, _, values, _), times, queries in zip(chunk, parts[::2], parts[1::2]):
            yield make_request(id, times, values, queries, panel.season, floor)


def check_distance(id: Any, steps: float) -> None:
    """Refuses query times so far away that a wrong date or frequency is the likely reason."""
    if steps > MAX_DISTANCE:
        raise InputError(
            f"series {id!r}: a query time is {steps:,.0f} steps away from the observations; "
            f"at most {MAX_DISTANCE:,} are allowed"
        )


def in_chunks(items: Iterable[Item], points: Callable[[Item], int] = lambda item: 0) -> Iterator[list[Item]]:
    """Groups of at most CHUNK_SERIES items and CHUNK_POINTS points.

    Args:
        points: how many points an item holds.
    """
    chunk: list[Item] = []
    held = 0
    for item in items:
        if chunk and (len(chunk) == CHUNK_SERIES or held + points(item) > CHUNK_POINTS):
            yield chunk
            chunk, held = [], 0
        chunk.append(item)
        held += points(item)
    if chunk:
        yield chunk
