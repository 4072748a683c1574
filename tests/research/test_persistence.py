"""Regressions of future changes on past ones."""

import numpy as np
import pytest

from configs.small_fim import get_config
from research.persistence import SETTINGS, describe, least_absolute, measure_changes, prior_series


def test_changes_are_per_season_in_units_of_the_mean_change():
    y = np.array([0.0, 10.0, 2.0, 12.0, 4.0, 14.0, 10.0, 20.0])  # a season of two, which rises by 2, 2 and 6
    found = measure_changes([y], [np.array([12.0, 22.0, 16.0, 26.0])], season=2)
    unit = 10 / 3
    np.testing.assert_allclose(found.before, [[6 / unit, 10 / 3 / unit, 10 / 3 / unit]])
    np.testing.assert_allclose(found.after, [3 / unit])  # by 6 in two seasons


def test_short_and_constant_series_are_left_out():
    found = measure_changes([np.arange(6.0), np.ones(20), np.arange(20.0)], [np.ones(2)] * 3, season=2)
    assert found.after.shape == (1,)


def test_the_regression_is_robust_to_outliers():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 2))
    target = 0.5 + features @ [2.0, -1.0]
    target[:20] += 1_000.0
    np.testing.assert_allclose(least_absolute(features, target), [0.5, 2.0, -1.0], atol=1e-6)


@pytest.mark.slow
@pytest.mark.long
def test_in_the_prior_long_growth_continues_and_booms_do_not():
    setting = SETTINGS["m4_quarterly"]
    row = describe(measure_changes(*prior_series(setting, get_config().prior), setting.season))
    assert row["series"] > 1_000 and row["all"] > 0.4 and row["last three"] < 0.1 and 0.6 < row["together"] < 0.85
