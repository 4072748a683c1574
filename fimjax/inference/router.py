"""Predictions of series at any time: interpolated between observations, forecast after them, backcast before them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fimjax.errors import InputError
from fimjax.inference.batching import Network, predict_batched
from fimjax.inference.interpolation import Blend, cut_windows
from fimjax.inference.predict import forecast_windows, interpolate_window
from fimjax.inference.request import SeriesRequest, in_chunks
from fimjax.inference.rollout import SLACK, roll_out
from fimjax.messages import list_series, warn_user
from fimjax.models import interpolates, model_name
from fimjax.nn.quantile_head import median_index


def predict_series(
    networks: Sequence[Network], requests: Iterable[SeriesRequest], progress: Callable[[int], None] | None = None
) -> Iterator[np.ndarray]:
    """Predictions of any number of series, in chunks of some series.

    A series without observations gets NaN, and a warning names these series when all are done.

    Args:
        networks: models whose forecasts are averaged.
        progress: called with the number of series that are done.

    Yields:
        Predictions [rows, columns] of some series, concatenated.
    """
    done = 0
    empty: dict[Any, None] = {}
    for chunk in in_chunks(requests, lambda request: len(request.times) + len(request.query_times)):
        found = iter(predict_at(networks, [request for request in chunk if len(request.times)]))
        unknown = lambda request: np.full((len(request.query_times), networks[0].columns), np.nan)
        yield np.concatenate([next(found) if len(request.times) else unknown(request) for request in chunk])
        empty |= {request.id: None for request in chunk if not len(request.times)}
        done += len(chunk)
        if progress:
            progress(done)
    if empty:
        warn_user(f"no observed value, so predictions are NaN: {list_series(list(empty))}")


def predict_at(networks: Sequence[Network], requests: list[SeriesRequest]) -> list[np.ndarray]:
    """Predictions [Q, columns] of series with observations, at any query times.

    Raises:
        InputError: for query times between observations, if no network interpolates.
    """
    predictions = [np.empty((len(request.query_times), networks[0].columns)) for request in requests]
    for select, predict in ((_between, _interpolate), (_after, _forecast), (_before, _backcast)):
        chosen = [np.flatnonzero(select(request)) for request in requests]
        wanted = [i for i, places in enumerate(chosen) if len(places)]
        parts = [replace(requests[i], query_times=requests[i].query_times[chosen[i]]) for i in wanted]
        for i, out in zip(wanted, predict(networks, parts) if parts else []):
            predictions[i][chosen[i]] = out
    return predictions


def _between(request: SeriesRequest) -> np.ndarray:
    return (request.query_times >= request.times[0]) & (request.query_times <= request.times[-1])


def _after(request: SeriesRequest) -> np.ndarray:
    return request.query_times > request.times[-1]


def _before(request: SeriesRequest) -> np.ndarray:
    return request.query_times < request.times[0]


def _forecast(networks: Sequence[Network], requests: list[SeriesRequest]) -> list[np.ndarray]:
    """The mean of the networks' forecasts."""
    predictions = [_forecast_with(network, requests) for network in networks]
    return predictions[0] if len(predictions) == 1 else [np.mean(parts, axis=0) for parts in zip(*predictions)]


def _forecast_with(network: Network, requests: list[SeriesRequest]) -> list[np.ndarray]:
    settings = network.config.windows
    windows = settings.count - 1
    windowed = [
        lengthen_windows(choose_windows(request, settings.min_steps, settings.max_steps), windows, settings.max_steps)
        for request in requests
    ]
    predict = lambda wanted: list(predict_batched(forecast_windows, network, (recent(r, windows) for r in wanted)))
    return roll_out(predict, windowed, median_index(network.config.model.quantile_levels), network.outputs)


def choose_windows(request: SeriesRequest, shortest: int, longest: int) -> SeriesRequest:
    """A request with windows as long as its horizon, within the lengths of training, and times from the last point."""
    query_times = request.query_times - request.times[-1]
    steps = min(max(int(np.ceil(query_times.max() - SLACK)), shortest), longest)
    return replace(request, times=request.times - request.times[-1], query_times=query_times, window_steps=steps)


def recent(request: SeriesRequest, windows: int) -> SeriesRequest:
    """A request with only the points in its last windows."""
    first = np.searchsorted(request.times, -(windows * (request.window_steps or 1)) + 1e-9, side="right")
    return replace(request, times=request.times[first:], values=request.values[first:])


def lengthen_windows(request: SeriesRequest, windows: int, longest: int) -> SeriesRequest:
    """A request with longer windows if all their points are equal and older ones differ.

    A month without demand does not mean that there is never any.
    """
    steps = request.window_steps or 1
    while steps < longest and not np.ptp(recent(request, windows).values) and np.ptp(request.values):
        steps = min(2 * steps, longest)
        request = replace(request, window_steps=steps)
    return request


def _backcast(networks: Sequence[Network], requests: list[SeriesRequest]) -> list[np.ndarray]:
    """Forecasts of the series in reversed time."""
    mirrored = [
        replace(request, times=-request.times[::-1], values=request.values[::-1], query_times=-request.query_times)
        for request in requests
    ]
    signs = np.where(np.arange(networks[0].columns) < networks[0].outputs, 1.0, -1.0)  # slopes change their sign
    return [out * signs for out in _forecast(networks, mirrored)]


def _interpolate(networks: Sequence[Network], requests: list[SeriesRequest]) -> list[np.ndarray]:
    """The interpolation of the first network that can."""
    network = next((each for each in networks if interpolates(each.config.model)), None)
    if network is None:
        name = model_name(networks[0].config.model)
        raise InputError(f"{name} can only forecast: use a FIM for times up to the last observation")
    slots = network.config.windows.slots
    cuts = [cut_windows(request.times, request.query_times, slots) for request in requests]
    parts = (cut.request(request) for request, windows in zip(requests, cuts) for cut in windows)
    found = predict_batched(interpolate_window, network, parts)
    predictions = []
    for request, windows in zip(requests, cuts):
        blend = Blend(request.query_times, network.outputs, network.slopes)
        for cut in windows:
            blend.add(cut, next(found))
        predictions.append(blend.result())
    return predictions
