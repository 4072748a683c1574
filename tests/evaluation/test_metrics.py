"""The metrics against results by hand, and against known mistakes of other implementations."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm

from fimjax.evaluation import metrics
from fimjax.evaluation.metrics import SCORED
from tests.evaluation.scored import SCORED_LEVELS, Case, assert_same, random_case


def test_the_scored_levels():
    assert SCORED_LEVELS == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def test_pinball_by_hand():
    """At level 0.9, two too low cost 1.8 and two too high 0.2."""
    assert_same(metrics.pinball(np.array([10.0, 10.0, 10.0]), np.array([8.0, 12.0, 10.0]), 0.9), [1.8, 0.2, 0.0])


def test_scrps_is_lowest_for_the_true_spread():
    """A published comparison had the loss flipped; then of all forecasts N(10, s) of N(10, 1), s = 0 looks best."""
    y = 10 + norm.ppf((np.arange(20_000) + 0.5) / 20_000)[None]
    spreads, z = (0.0, 0.5, 1.0, 1.5, 2.0), norm.ppf(SCORED_LEVELS)

    def scores(levels):
        quantiles = [np.broadcast_to(10 + s * z, (*y.shape, len(z))) for s in spreads]
        return [metrics.scrps(y, q, levels).value() for q in quantiles]

    right, flipped = scores(SCORED_LEVELS), scores(SCORED_LEVELS[::-1])
    assert spreads[np.argmin(right)] == 1 and spreads[np.argmin(flipped)] == 0
    # E|z| for s = 0; the loss of a true quantile is the density there.
    np.testing.assert_allclose(right[0], np.sqrt(2 / np.pi) / 10, rtol=1e-3)
    np.testing.assert_allclose(right[2], 2 * norm.pdf(z).mean() / 10, rtol=1e-3)


def test_scrps_of_a_forecast_without_width_is_its_absolute_error(case):
    """Without the factor of 2 it would be half of it."""
    no_width = np.repeat(case.point[..., None], len(SCORED), axis=-1)
    ours = metrics.scrps(case.y, no_width, SCORED_LEVELS).value()
    assert_same(ours, np.abs(case.y - case.point).sum() / np.abs(case.y).sum())
    assert_same(ours, metrics.nd(case.y, case.point).value())


def test_scrps_by_hand():
    """Losses of 0.1 * 2, 0.5 * 1 and 0.1 * 1 at the first step, 0.9 * 1, 0.5 * 2 and 0.9 * 0 at the second."""
    y = np.array([[10.0, -4.0]])
    q = np.array([[[8.0, 9.0, 11.0], [-3.0, -2.0, -4.0]]])
    ours = metrics.scrps(y, q, (0.1, 0.5, 0.9))
    assert_same(ours.numerator, [2 * ((0.2 + 0.5 + 0.1) + (0.9 + 1.0 + 0.0)) / 3])
    assert_same(ours.denominator, [14.0])


def test_scrps_nd_and_width_divide_by_absolute_values():
    """utilsforecast once divided by sum y, which is 0 here; and a series turned upside down is as hard as before."""
    y, q = np.array([[5.0, -5.0, 3.0, -3.0]]), np.full((1, 4, len(SCORED)), 1.0)
    assert_same(metrics.scrps(y, q, SCORED_LEVELS).value(), (4 + 6 + 2 + 4) / 16)
    assert metrics.nd(y, np.ones_like(y)).value() == (4 + 6 + 2 + 4) / 16
    assert metrics.width(y, y - 1, y + 3).value() == 16 / 16

    case = random_case(3)
    upside_down = dataclasses.replace(case, y=-case.y, quantiles=-case.quantiles[..., ::-1])
    assert_same(upside_down.scrps().value(), case.scrps().value())


def test_pooled_metrics_are_ratios_of_sums():
    """A small series forecast badly and a large one forecast well: the mean of both ratios would be far larger."""
    y, f = np.array([[1.0, 1.0], [99.0, 99.0]]), np.array([[3.0, 3.0], [100.0, 100.0]])
    q = np.repeat(f[..., None], len(SCORED), axis=-1)
    assert_same(metrics.scrps(y, q, SCORED_LEVELS).value(), (4 + 2) / 200)
    assert_same(metrics.nd(y, f).value(), (4 + 2) / 200)
    assert_same(metrics.width(y, f - 2, f + 2).value(), (8 + 8) / 200)


def test_mase_and_mase_pooled_by_hand():
    """Errors of 1 and 50, naive errors of 2 and 10 in the test part, and of 4 and 20 in the history."""
    y, f = np.array([[10.0, 10.0], [100.0, 100.0]]), np.array([[9.0, 11.0], [150.0, 50.0]])
    naive, scales = np.array([[8.0, 12.0], [90.0, 110.0]]), np.array([4.0, 20.0])
    assert_same(metrics.mase_pooled(y, f, naive).value(), (2 + 100) / (4 + 20))
    assert_same(metrics.mase(y, f, scales).value(), (1 / 4 + 50 / 20) / 2)


def test_mase_pooled_of_the_naive_forecast_is_1(case):
    assert metrics.mase_pooled(case.y, case.naive, case.naive).value() == 1


def test_smape_by_hand():
    """100 for a threefold forecast, 200 for one of the other sign or of zero, and the same the other way round."""
    y, f = np.array([[1.0], [-1.0], [2.0], [0.0]]), np.array([[3.0], [4.0], [0.0], [-5.0]])
    assert_same(metrics.smape(y, f).numerator, [100, 200, 200, 200])
    assert_same(metrics.smape(f, y).numerator, [100, 200, 200, 200])


def test_owa_of_naive2_itself_is_1():
    assert metrics.owa(15.2, 1.9, 15.2, 1.9) == 1


def test_owa_by_hand():
    """Half of Naive2's sMAPE and a quarter of its MASE."""
    assert metrics.owa(smape=10.0, mase=1.0, naive2_smape=20.0, naive2_mase=4.0) == (1 / 2 + 1 / 4) / 2


def test_wide_intervals_do_not_offset_narrow_ones_in_coverage_difference():
    assert_same(metrics.coverage_difference({80: np.float64(0.7), 60: np.float64(0.7)}), 0.1)


def test_coverage_difference_of_several_resamples():
    coverages = {80: np.array([0.8, 0.7, 0.9]), 95: np.array([0.95, 0.95, 1.0])}
    np.testing.assert_allclose(metrics.coverage_difference(coverages), [0, 0.05, 0.075], atol=1e-12)


# RatioOfSums


ALL = {
    "scrps": lambda case: case.scrps(),
    "nd": lambda case: metrics.nd(case.y, case.point),
    "mase_pooled": lambda case: metrics.mase_pooled(case.y, case.point, case.naive),
    "mase": lambda case: metrics.mase(case.y, case.point, case.scales),
    "smape": lambda case: metrics.smape(case.y, case.point),
    "coverage": lambda case: metrics.coverage(case.y, *case.bounds(80)),
    "width": lambda case: metrics.width(case.y, *case.bounds(80)),
}


@pytest.mark.parametrize("name", ALL)
def test_counting_a_series_k_times_equals_repeating_it_k_times(name):
    case = random_case(4)
    case = dataclasses.replace(case, histories=[np.ones(9), *case.histories[1:]])  # no MASE for the first
    counts = np.random.default_rng(0).multinomial(len(case.y), np.full(len(case.y), 1 / len(case.y)), size=5)

    def drawn(count: np.ndarray) -> Case:
        rows = np.repeat(np.arange(len(count)), count)
        arrays = {key: getattr(case, key)[rows] for key in ("y", "point", "naive", "quantiles")}
        return dataclasses.replace(case, histories=[case.histories[row] for row in rows], **arrays)

    assert_same(ALL[name](case).resampled(counts), [ALL[name](drawn(count)).value() for count in counts])


def test_a_metric_that_is_defined_for_no_series_is_nan():
    y = np.zeros((2, 3))
    assert np.isnan(metrics.mase(y, y + 1, np.zeros(2)).value())
    assert np.isnan(metrics.mase_pooled(y, y + 1, y).value())
    assert np.isnan(metrics.scrps(y, np.ones((2, 3, 1)), (0.5,)).value())
    assert np.isnan(metrics.nd(y, y + 1).value())
    assert np.isnan(metrics.width(y, y, y + 1).value())


def test_only_resamples_without_any_defined_series_are_nan():
    ratio = metrics.mean_where_defined(np.array([np.nan, 3.0, 5.0]), np.array([False, True, True]))
    counts = np.array([[3, 0, 0], [2, 1, 0], [0, 1, 2], [1, 1, 1]])
    np.testing.assert_allclose(ratio.resampled(counts), [np.nan, 3, 13 / 3, 4])
