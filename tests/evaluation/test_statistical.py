import numpy as np
import pytest
from scipy.stats import norm
from statsforecast.models import AutoETS

from fimjax.evaluation.baselines import statistical
from fimjax.evaluation.baselines.statistical import SINGLE, combine, fit_and_forecast, implied_deviation
from fimjax.evaluation.forecasts import LEVELS, Forecasts, level_index

Y = 100 + 10 * np.sin(np.arange(60) * np.pi / 6) + np.random.default_rng(0).normal(size=60)


def gaussian(mean, deviation):
    """Forecasts of one series and one step whose quantiles are those of a normal distribution."""
    quantiles = (mean + deviation * norm.ppf(LEVELS)).reshape(1, 1, -1)
    return Forecasts(np.array(["a"]), np.array([[mean]]), quantiles, np.ones(1), np.ones(1), np.zeros(1, bool))


@pytest.mark.parametrize("name", SINGLE)
def test_intervals_widen_with_their_level_and_the_median_is_the_mean(name):
    point, quantiles, seconds, failed = fit_and_forecast(name, Y, 12, 6)
    assert point.shape == (6,) and quantiles.shape == (6, len(LEVELS)) and seconds >= 0 and not failed
    # Without the median: the Theta model draws 200 samples, whose mean may lie outside their 20 % interval.
    assert np.all(np.diff(np.delete(quantiles, level_index(0.5), axis=-1), axis=-1) > 0)
    np.testing.assert_array_equal(quantiles[:, level_index(0.5)], point)


def test_quantiles_are_the_bounds_that_statsforecast_gives():
    _, quantiles, _, _ = fit_and_forecast("auto_ets", Y, 12, 6)
    theirs = AutoETS(season_length=12).forecast(y=Y, h=6, level=[60, 95])
    for level, key in ((0.2, "lo-60"), (0.8, "hi-60"), (0.025, "lo-95"), (0.975, "hi-95")):
        np.testing.assert_allclose(quantiles[:, level_index(level)], theirs[key])


def test_season_lengths_reach_the_models():
    seasonal, plain = (fit_and_forecast("seasonal_naive", Y, season, 12)[0] for season in (12, 1))
    np.testing.assert_array_equal(seasonal, Y[-12:])
    np.testing.assert_array_equal(plain, np.full(12, Y[-1]))


def test_a_fit_that_fails_falls_back_and_is_counted(monkeypatch):
    class Failing:
        def forecast(self, **_):
            raise np.linalg.LinAlgError("singular")

    class Undefined:
        def forecast(self, y, h, level):
            bounds = {f"{end}-{interval}": np.full(h, np.nan) for end in ("lo", "hi") for interval in level}
            return {"mean": np.full(h, np.nan), **bounds}

    for model in (Failing, Undefined):
        monkeypatch.setitem(statistical.SINGLE, "auto_arima", lambda season: model())
        point, quantiles, _, failed = fit_and_forecast("auto_arima", Y, 12, 6)
        assert failed
        np.testing.assert_array_equal(point, Y[-12:-6])
        assert np.isfinite(quantiles).all()


def test_one_observation_is_enough():
    for name in SINGLE:
        point, quantiles, _, _ = fit_and_forecast(name, np.array([5.0]), 12, 3)
        assert np.all(point == 5) and np.isfinite(quantiles).all(), name


def test_implied_deviation_of_a_normal_distribution():
    np.testing.assert_allclose(implied_deviation(gaussian(3.0, 2.0).quantiles), [[2.0]])


def test_sicoum_is_the_mean_of_means_and_of_variances():
    members = [gaussian(mean, deviation) for mean, deviation in ((1, 1), (2, 2), (3, 3), (6, 4))]
    both = combine("sicoum", members)
    np.testing.assert_allclose(both.point, [[3.0]])
    deviation = np.sqrt((1 + 4 + 9 + 16) / 4)
    np.testing.assert_allclose(both.quantiles[0, 0], 3 + deviation * norm.ppf(LEVELS))
    narrow = combine("sicoum_narrow", members)
    np.testing.assert_allclose(narrow.quantiles[0, 0], 3 + np.sqrt(30) / 4 * norm.ppf(LEVELS))
    assert both.seconds == 4


def test_a_history_shorter_than_a_season_falls_back_to_its_last_value():
    point, quantiles, _, failed = fit_and_forecast("seasonal_naive", np.arange(1.0, 12.0), 12, 5)
    assert failed and np.all(point == 11) and np.isfinite(quantiles).all()
