"""A series at any time: FIM-l tells what lies between its observations, FIM what comes after them and came before."""

from typing import NamedTuple

import numpy as np

from fimjax.config import FIMConfig
from fimjax.errors import InputError
from fimjax.inference.engine import Network, Request, answer
from fimjax.inference.interpolation import Blend, cut_windows
from fimjax.inference.predict import forecast_windows, interpolate_window
from fimjax.inference.rollout import SLACK, roll_out
from fimjax.inference.views import View, turn_back
from fimjax.models import model_name
from fimjax.nn.quantile_head import median_index


class Question(NamedTuple):
    """A series, and the times at which it is asked for."""

    times: np.ndarray  # [n], float64, in steps, rising
    values: np.ndarray  # [n], float64, finite
    season: int  # 1 = none or unknown
    queries: np.ndarray  # [Q], float64, in steps, in any order
    floor: float = -np.inf  # below which no value lies; -inf if it is unknown


def predict_at(network: Network, questions: list[Question]) -> list[np.ndarray]:
    """What a network says [Q, columns] of each series at its times.

    Before the first observation a series is forecast backwards: the past of the mirrored series is its future.

    Raises:
        InputError: for times between observations, if the network does nothing but forecast.
    """
    answers = [np.empty((len(q.queries), network.columns)) for q in questions]
    for part, ask in ((_between, _interpolate), (_after, _forecast), (_before, _backcast)):
        places = [part(q) for q in questions]
        asked = [i for i, place in enumerate(places) if len(place)]
        parts = [questions[i]._replace(queries=questions[i].queries[places[i]]) for i in asked]
        for i, out in zip(asked, ask(network, parts)):
            answers[i][places[i]] = out
    return answers


def _after(q: Question) -> np.ndarray:
    return np.flatnonzero(q.queries > q.times[-1])


def _before(q: Question) -> np.ndarray:
    return np.flatnonzero(q.queries < q.times[0])


def _between(q: Question) -> np.ndarray:
    return np.flatnonzero((q.queries >= q.times[0]) & (q.queries <= q.times[-1]))


def _forecast(network: Network, questions: list[Question]) -> list[np.ndarray]:
    members = (network, *network.others)
    answers = [_forecast_view(member, questions, view) for member in members for view in member.views]
    return answers[0] if len(answers) == 1 else [np.mean(parts, axis=0) for parts in zip(*answers)]


def _forecast_view(network: Network, questions: list[Question], view: View) -> list[np.ndarray]:
    config = network.config
    shortest, longest, windows = config.prior.min_window_steps, config.prior.max_window_steps, config.prior.windows - 1
    if view.flipped:
        questions = [q._replace(values=-q.values, floor=-np.inf) for q in questions]
    requests = [reach_back(to_request(q, shortest, longest, view.stretch), windows, longest) for q in questions]
    ask = lambda asked: list(answer(forecast_windows, network, (recent(r, windows) for r in asked)))
    found = roll_out(ask, requests, median_index(config.model.quantile_levels), network.outputs)
    return [turn_back(out, network.outputs) for out in found] if view.flipped else found


def to_request(q: Question, shortest: int, longest: int, stretch: float = 1.0) -> Request:
    """What FIM reads to forecast: windows as long as what is asked for, within the lengths that it was trained on."""
    queries = q.queries - q.times[-1]
    steps = min(max(int(np.ceil(stretch * queries.max() - SLACK)), shortest), longest)
    return Request(q.times - q.times[-1], q.values, steps, q.season, queries, q.floor)


def recent(request: Request, windows: int) -> Request:
    """A request with no more of its past than the last windows hold."""
    first = np.searchsorted(request.times, -(windows * request.steps) + 1e-9, side="right")
    return request._replace(times=request.times[first:], values=request.values[first:])


def reach_back(request: Request, windows: int, longest: int) -> Request:
    """A request with longer windows where all points in them are equal and older ones are not: no demand for a month
    does not mean that there is none."""
    while request.steps < longest and not np.ptp(recent(request, windows).values) and np.ptp(request.values):
        request = request._replace(steps=min(2 * request.steps, longest))
    return request


def _backcast(network: Network, questions: list[Question]) -> list[np.ndarray]:
    mirrored = [Question(-q.times[::-1], q.values[::-1], q.season, -q.queries, q.floor) for q in questions]
    signs = np.where(np.arange(network.columns) < network.outputs, 1.0, -1.0)  # slopes turn with time
    return [out * signs for out in _forecast(network, mirrored)]


def _interpolate(network: Network, questions: list[Question]) -> list[np.ndarray]:
    if not questions:
        return []
    interpolators = [each for each in (network, *network.others) if isinstance(each.config.model, FIMConfig)]
    if not interpolators:
        name = model_name(network.config.model)
        raise InputError(f"{name} does nothing but forecast: give a FIM for times up to the last observation")
    network = interpolators[0]
    blends = [Blend(q.queries, network) for q in questions]
    cuts = [cut_windows(q.times, q.queries, network.config.prior.slots) for q in questions]
    requests = (
        Request(q.times[cut.points] - cut.last, q.values[cut.points], None, q.season, q.queries[cut.queries] - cut.last)
        for q, windows in zip(questions, cuts)
        for cut in windows
    )
    found = answer(interpolate_window, network, requests)
    for blend, windows in zip(blends, cuts):
        for cut in windows:
            blend.add(cut, next(found))
    return [blend.result() for blend in blends]
