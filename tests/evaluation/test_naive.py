import numpy as np
from statsforecast.models import SeasonalNaive

from fimjax.evaluation.baselines.naive import (
    forecast_all,
    is_seasonal,
    last_season,
    last_value,
    naive2,
    seasonal_factors,
)
from tests.evaluation.examples import make_dataset

MONTHS = np.array([0.9, 0.8, 0.95, 1.0, 1.05, 1.1, 1.3, 1.25, 1.0, 0.9, 0.85, 0.9])


def test_last_season_is_statsforecasts_seasonal_naive():
    for name in ("m1_monthly", "m1_quarterly", "m1_yearly"):
        dataset = make_dataset(name, series=3, length=40)
        season, horizon = dataset.info.season, dataset.info.horizon
        ours = forecast_all(last_season, dataset.histories, season, horizon)
        for row, history in zip(ours, dataset.histories):
            theirs = SeasonalNaive(season_length=season).forecast(y=history, h=horizon)["mean"]
            np.testing.assert_allclose(row, theirs)


def test_a_history_shorter_than_a_season_repeats_its_last_value():
    np.testing.assert_array_equal(last_season(np.array([1.0, 2.0, 3.0]), 12, 4), [3, 3, 3, 3])


def test_factors_of_a_purely_multiplicative_season_are_found():
    for season, pattern in ((12, MONTHS), (3, np.array([0.5, 1.0, 1.5]))):
        y = 50 * np.tile(pattern, 5)
        np.testing.assert_allclose(seasonal_factors(y, season), pattern / pattern.mean(), rtol=1e-12)


def test_naive2_continues_a_season_wherever_the_history_ends():
    pattern = MONTHS / MONTHS.mean()
    for length in (48, 53):
        y = 70 * pattern[np.arange(length) % 12]
        expected = 70 * pattern[np.arange(length, length + 18) % 12]
        np.testing.assert_allclose(naive2(y, 12, 18), expected, rtol=1e-9)


def test_naive2_finds_no_season_where_there_is_none():
    noise = np.random.default_rng(0).normal(100, 1, 200)
    assert not is_seasonal(noise, 12)
    assert not is_seasonal(np.tile(MONTHS, 2), 12), "two years are too few for M4's test"
    assert not is_seasonal(np.ones(100), 4)
    np.testing.assert_array_equal(naive2(noise, 12, 5), last_value(noise, 12, 5))


def test_naive2_of_a_series_whose_season_has_zeros_is_finite():
    y = np.tile([1.0, 0.0, 0.0, 0.0], 10)
    assert is_seasonal(y, 4)
    np.testing.assert_array_equal(naive2(y, 4, 3), last_value(y, 4, 3))
