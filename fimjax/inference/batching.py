"""Many series put to a network, a chunk at a time: memory does not grow with their number."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fimjax.errors import InputError
from fimjax.frames.inputs import Inputs
from fimjax.inference import engine
from fimjax.inference.engine import Network
from fimjax.inference.router import Question, predict_at
from fimjax.messages import listed, warn_user

MOST_STEPS = 100_000
"""How far from its observations a series may be asked for."""


class Asked(NamedTuple):
    """Rows of one series, and the times to answer at."""

    id: Any
    times: np.ndarray  # [n], in steps
    values: np.ndarray  # [n], NaN = missing
    queries: np.ndarray  # [Q], in steps


def in_steps(inputs: Inputs, queries: Iterable[np.ndarray]) -> Iterator[Asked]:
    """The series with the stamps at which each is asked for, both in steps since its last row.

    Steps of a calendar are found for many series at once, for every call writes the calendar anew.
    """
    panel = inputs.panel
    rows = zip(panel.ids, panel.stamps, panel.values, queries)
    for chunk in _chunks(rows, lambda row: len(row[1]) + len(row[3])):
        stamps = [x for _, known, _, asked in chunk for x in (known, asked)]
        origins = np.repeat([known[-1] for _, known, _, _ in chunk], [len(row[1]) + len(row[3]) for row in chunk])
        steps = inputs.frequency.positions(np.concatenate(stamps), origins)
        parts = np.split(steps, np.cumsum([len(x) for x in stamps])[:-1])
        for (id, _, values, _), times, asked in zip(chunk, parts[::2], parts[1::2]):
            yield Asked(id, times, values, asked)


def predict_series(
    network: Network,
    season: int,
    asked: Iterable[Asked],
    progress: Callable[[int], None] | None = None,
    floor: float = -np.inf,
) -> Iterator[np.ndarray]:
    """What a network says of series at the times asked for, one series after the other: [rows, columns] a chunk.

    No value lies below the floor. Series without an observation get NaN, and a warning with their ids when all is done.
    """
    done, empty = 0, {}
    for chunk in _chunks(asked, lambda a: len(a.times) + len(a.queries)):
        questions = [_question(a, season, floor) for a in chunk]
        found = iter(predict_at(network, [q for q in questions if q is not None]))
        nothing = lambda a: np.full((len(a.queries), network.columns), np.nan)
        yield np.concatenate([nothing(a) if q is None else next(found) for a, q in zip(chunk, questions)])
        empty |= {a.id: None for a, q in zip(chunk, questions) if q is None}
        done += len(chunk)
        if progress:
            progress(done)
    if empty:
        warn_user(f"no observation to go by, so that answers are NaN: {listed(list(empty))}")


def _question(asked: Asked, season: int, floor: float) -> Question | None:
    """The observed points of a series with its query times; None if there are no such points."""
    observed = np.isfinite(asked.values)
    if not observed.any():
        return None
    times, queries = asked.times[observed], asked.queries
    if len(queries):
        check_distance(asked.id, max(queries.max() - times[-1], times[0] - queries.min()))
    # In backtests a known floor helps where there is a season and harms where there is none (docs/accuracy.md).
    return Question(times, asked.values[observed], season, queries, floor if season > 1 else -np.inf)


def check_distance(id: Any, steps: float) -> None:
    """Refuses times so far from all observations that a wrong date or frequency is the likelier reason."""
    if steps > MOST_STEPS:
        raise InputError(
            f"series {id!r}: a time {steps:,.0f} steps away from its observations is asked for, "
            f"where {MOST_STEPS:,} are the most"
        )


def _chunks(items: Iterable[Any], size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """As many at a time as memory is meant for: by number, and by what each of them holds."""
    chunk, held = [], 0
    for item in items:
        if chunk and (len(chunk) == engine.CHUNK or held + size(item) > engine.CHUNK_POINTS):
            yield chunk
            chunk, held = [], 0
        chunk.append(item)
        held += size(item)
    if chunk:
        yield chunk
