"""Intervals by the past of all series: wider where they were too narrow, and never by the truth that is to come."""

import warnings
from statistics import NormalDist

import numpy as np
import pytest

from fimjax.errors import PretrainedError
from fimjax.inference.calibration import HALF_TRUST, MAX_FACTOR, PERSISTENCE, widen, width_factor
from tests.examples import REPORT_FIM
from tests.inference.small import forecaster, frame

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
NORMAL = np.array([NormalDist().inv_cdf(level) for level in LEVELS])
MANY = 10_000


def truth(scale):
    return scale * np.random.default_rng(0).normal(size=MANY)


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_half_of_what_intervals_were_off_by_is_expected_to_go_on(scale):
    factor = width_factor(np.tile(NORMAL, (MANY, 1)), truth(scale), LEVELS, MANY)
    np.testing.assert_allclose(factor, scale**PERSISTENCE, rtol=0.03)


def test_a_few_series_say_little():
    answers = np.tile(NORMAL, (MANY, 1))
    of = lambda series: np.log(width_factor(answers, truth(2.0), LEVELS, series))
    np.testing.assert_allclose(of(HALF_TRUST) / of(10**9), 0.5, rtol=1e-3)
    assert of(1) < 0.1 * of(10**9)


def test_sides_are_judged_by_their_own_width():
    lopsided = np.where(NORMAL > 0, 3.0, 1.0) * NORMAL
    y = truth(1.0)
    factor = width_factor(np.tile(lopsided, (MANY, 1)), np.where(y > 0, 3.0, 1.0) * y, LEVELS, MANY)
    np.testing.assert_allclose(factor, 1.0, rtol=0.03)


def test_what_was_not_observed_and_what_has_no_width_do_no_harm():
    answers, y = np.tile(NORMAL, (MANY, 1)), truth(2.0)
    gaps = np.where(np.arange(MANY) % 2, np.nan, y)
    np.testing.assert_allclose(width_factor(answers, gaps, LEVELS, MANY), 2.0**PERSISTENCE, rtol=0.05)
    assert width_factor(answers, np.full(MANY, np.nan), LEVELS, MANY) == 1.0
    flat = np.zeros((8, len(LEVELS)))
    least, most = (
        (1 / MAX_FACTOR) ** (PERSISTENCE * 8 / (8 + HALF_TRUST)),
        MAX_FACTOR ** (PERSISTENCE * 8 / (8 + HALF_TRUST)),
    )
    np.testing.assert_allclose(width_factor(flat, np.zeros(8), LEVELS, 8), least)
    np.testing.assert_allclose(width_factor(flat, np.ones(8), LEVELS, 8), most)


def test_the_median_stays_and_quantiles_keep_their_order():
    wider = widen(np.array([[-1.0, -0.5, 0.0, 1.0, 2.0]]) + 5.0, LEVELS, 2.0)
    np.testing.assert_allclose(wider, [[3.0, 4.0, 5.0, 7.0, 9.0]])


def test_all_series_of_a_forecast_are_widened_alike():
    model, series = forecaster(), frame((30, 25, 20))
    plain, other = (model.forecast(series, 4, level=[80], calibrate=c) for c in (False, True))
    np.testing.assert_array_equal(other[model.name], plain[model.name])
    for side in ("lo", "hi"):
        distance = lambda answer: (answer[f"{model.name}-{side}-80"] - answer[model.name]).to_numpy()
        ratios = distance(other) / distance(plain)
        np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)
    assert abs(ratios[0] - 1.0) > 0.01


@pytest.mark.parametrize("miss, is_wider", [(0.0, False), (50.0, True)])
def test_what_came_as_forecast_narrows_and_what_did_not_widens(miss, is_wider):
    model, series = forecaster(), frame((30, 25, 20))
    judged = series.groupby("unique_id").cumcount(ascending=False) < 4
    came = model.cross_validation(series, 4)[model.name].to_numpy() + miss
    series.loc[judged, "y"] = came
    plain, other = (model.forecast(series, 4, level=[80], calibrate=c) for c in (False, True))
    width = lambda answer: (answer[f"{model.name}-hi-80"] - answer[f"{model.name}-lo-80"]).iloc[0]
    assert (width(other) > width(plain)) == is_wider and width(other) != width(plain)


def test_without_enough_history_nothing_changes_and_a_warning_says_so():
    model, series = forecaster(), frame((7, 5))
    with pytest.warns(
        UserWarning, match="intervals are not calibrated: no series has 4 observations before its last 4 rows"
    ):
        found = model.forecast(series, 4, level=[80], calibrate=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found.equals(model.forecast(series, 4, level=[80]))


def test_a_model_without_quantiles_has_nothing_to_calibrate():
    with pytest.raises(PretrainedError, match="FIM cannot calibrate: the model has no quantiles"):
        forecaster(REPORT_FIM).forecast(frame((30,)), 4, calibrate=True)
