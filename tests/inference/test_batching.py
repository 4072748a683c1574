"""Batches, padding and chunks must not show in an answer; neither may the size of the numbers."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from fimjax.config import Config, NBEATSConfig
from fimjax.forecaster import Forecaster
from fimjax.inference import request as requests_module
from fimjax.inference.batching import MAX_POINTS, Network, compiled, predict_batched, scale_request
from fimjax.inference.predict import forecast_windows, inference_config
from fimjax.inference.request import SeriesRequest
from fimjax.inference.rollout import roll_out
from tests.examples import LEVELS, QUANTILE_REPORT_FIM, with_params
from tests.inference import small

CONFIG = Config(model=QUANTILE_REPORT_FIM, windows=small.WINDOWS)
MEDIAN = LEVELS.index(0.5)


@pytest.fixture(scope="module")
def params():
    return with_params(QUANTILE_REPORT_FIM)[1]["params"]


def request(seed=0, n=20, h=5, steps=8, season=4):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n).cumsum()
    return SeriesRequest("s", np.arange(1.0 - n, 1), values, np.arange(1.0, h + 1), season, window_steps=steps)


def network(params):
    return Network(CONFIG, params)


def ask_with(params):
    return lambda requests: list(predict_batched(forecast_windows, network(params), requests))


def test_answers_come_in_order_whatever_the_batches_and_chunks(params, monkeypatch):
    requests = [request(seed, n=1 + 7 * seed % 40, h=1 + seed % 12) for seed in range(25)]
    together = list(predict_batched(forecast_windows, network(params), iter(requests)))
    assert [len(x) for x in together] == [len(r.query_times) for r in requests]
    monkeypatch.setattr(requests_module, "CHUNK_SERIES", 4)
    for a, b in zip(together, predict_batched(forecast_windows, network(params), requests)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    for i in (0, 7, 24):
        (alone,) = predict_batched(forecast_windows, network(params), [requests[i]])
        np.testing.assert_allclose(alone, together[i], rtol=1e-4, atol=1e-4)


def test_series_of_all_lengths_share_a_handful_of_programs(params):
    before = compiled(forecast_windows)._cache_size()
    list(predict_batched(forecast_windows, network(params), [request(n=n, h=1 + n % 8) for n in range(1, 60)]))
    assert compiled(forecast_windows)._cache_size() - before <= 3


@pytest.mark.parametrize("shift, scale", [(0, 1e-30), (1e12, 1.0), (0, 1e30), (-5e6, 1e-3)])
def test_level_and_size_of_the_numbers_do_not_matter(params, shift, scale):
    plain = request()
    (expected,) = predict_batched(forecast_windows, network(params), [plain])
    (found,) = predict_batched(forecast_windows, network(params), [replace(plain, values=shift + scale * plain.values)])
    np.testing.assert_allclose((found - shift) / scale, expected, rtol=1e-2, atol=1e-2)


def test_the_largest_numbers_do_not_overflow(params):
    huge = replace(request(), values=np.array([-1.7e308, 1.7e308] * 10))
    scaled = scale_request(huge, 16)
    assert np.isfinite(scaled.request.values).all() and np.isfinite(scaled.scale)


def test_a_floor_is_reported_in_the_units_of_the_values_unless_a_value_lies_below_it():
    plain = replace(request(), values=np.array([20.0, 30.0, 40.0, 25.0] * 5))
    scaled = lambda floor: scale_request(replace(plain, floor=floor), 16).request.floor
    assert scaled(0.0) == pytest.approx(-3.0)  # 30 below the middle, 10 to each side
    assert scaled(20.0) == pytest.approx(-1.0)
    assert scaled(-np.inf) == scaled(21.0) == scaled(-1e300) == -np.inf


def test_what_lies_before_the_windows_is_not_read(params):
    long = request(n=400)
    short = replace(long, times=long.times[-24:], values=long.values[-24:])
    np.testing.assert_allclose(*predict_batched(forecast_windows, network(params), [long, short]), rtol=1e-5)


def test_dense_series_are_thinned_evenly_and_keep_their_last_point():
    times = np.linspace(-20, 0, 3 * MAX_POINTS)
    kept = scale_request(SeriesRequest("s", times, np.sin(times), np.ones(1), window_steps=8), 16).request
    assert len(kept.times) == MAX_POINTS and kept.times[-1] == 0 and np.diff(kept.times).max() < 0.02


def test_within_a_window_rolling_out_changes_nothing(params):
    requests = [request(seed, h=h) for seed, h in ((0, 3), (1, 8))]
    rolled = roll_out(ask_with(params), requests, MEDIAN, len(LEVELS))
    for a, b in zip(rolled, predict_batched(forecast_windows, network(params), requests)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_beyond_a_window_intervals_do_not_shrink_and_quantiles_stay_sorted(params):
    (out,) = roll_out(ask_with(params), [request(h=50, steps=16)], MEDIAN, len(LEVELS))
    assert out.shape == (50, len(LEVELS)) and np.isfinite(out).all()
    assert np.all(np.diff(out, axis=-1) >= 0)
    widths = out[:, -1] - out[:, 0]
    for first in (16, 32, 48):
        assert np.all(widths[first : first + 16] >= widths[first - 1] - 1e-6)


def test_rolling_out_reads_its_own_medians(params):
    """The second window is what the model says of the history with the first window's medians appended."""
    plain = request(h=20, steps=10)
    (out,) = roll_out(ask_with(params), [plain], MEDIAN, len(LEVELS))
    (first,) = predict_batched(forecast_windows, network(params), [replace(plain, query_times=np.arange(1.0, 11))])
    longer = replace(
        plain,
        times=np.concatenate([plain.times - 10, np.arange(-9.0, 1)]),
        values=np.concatenate([plain.values, first[:, MEDIAN]]),
        query_times=np.arange(1.0, 11),
    )
    (second,) = predict_batched(forecast_windows, network(params), [longer])
    np.testing.assert_allclose(out[10:, MEDIAN], second[:, MEDIAN], rtol=1e-3, atol=1e-4)


def test_fim_reads_more_points_of_a_window_than_it_was_trained_on_and_a_grid_does_not():
    fim = small.forecaster().config
    short = dataclasses.replace(fim, windows=dataclasses.replace(fim.windows, slots=4))
    assert inference_config(short).windows.slots == fim.windows.max_steps
    assert inference_config(short) == inference_config(fim)
    grid = dataclasses.replace(short, model=NBEATSConfig(context=24, horizon=fim.windows.max_steps))
    assert inference_config(grid).windows.slots == 4


def test_the_room_of_training_does_not_show_in_a_forecast():
    whole = small.forecaster()
    windows = dataclasses.replace(whole.config.windows, slots=4)
    thinned = Forecaster(dataclasses.replace(whole.config, windows=windows), whole.params)
    found = [model.forecast(small.frame((60,)), h=16, freq=1)["FIM"] for model in (whole, thinned)]
    np.testing.assert_array_equal(*found)
