"""Seasonal ARIMA against scipy's recursive filter and textbook autocorrelations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import lfilter

from fimjax.prior.families import sarima
from tests.prior.quick import quick_jit

seasonal_sum = quick_jit(sarima.seasonal_sum)
stationary_parts = quick_jit(jax.vmap(lambda p, e: sarima.stationary_part(p, e, jnp.int32(1)), in_axes=(None, 0)))


def parameters(**changes):
    """White noise unless changed."""
    values = dict(
        ar_radius=[0.0] * sarima.AR_FACTORS,
        ar_angle=[0.0] * sarima.AR_FACTORS,
        ma_radius=[0.0] * sarima.MA_FACTORS,
        ma_angle=[0.0] * sarima.MA_FACTORS,
        seasonal_ar=0.0,
        seasonal_ma=0.0,
        fraction=0.0,
        difference=False,
        seasonal_difference=False,
        drift=0.0,
    )
    return sarima.Parameters(**{k: jnp.asarray(v) for k, v in {**values, **changes}.items()})


def test_stationary_part_is_scipys_filter():
    p = parameters(
        ar_radius=[0.8, 0.6, 0.5],
        ar_angle=[0.0, 0.7, np.pi],
        ma_radius=[0.7, 0.4],
        ma_angle=[1.2, 0.0],
        seasonal_ar=0.5,
        seasonal_ma=0.3,
    )
    pair = np.polymul([1, -0.8], [1, -2 * 0.6 * np.cos(0.7), 0.36])
    seasonal = np.zeros(13)
    seasonal[0] = 1
    ar = np.polymul(np.polymul(pair, [1, 0.5]), seasonal - 0.5 * np.eye(13)[12])
    ma = np.polymul(np.polymul([1, -2 * 0.7 * np.cos(1.2), 0.49], [1, -0.4]), seasonal - 0.3 * np.eye(13)[12])
    noise = np.random.default_rng(0).normal(size=1024)
    actual = sarima.stationary_part(p, jnp.array(noise, jnp.float32), jnp.int32(12))
    np.testing.assert_allclose(actual[512:], lfilter(ma, ar, noise)[512:], atol=2e-3)


def test_first_order_autocorrelation():
    noise = jax.random.normal(jax.random.key(1), (200, 1024))
    p = parameters(ar_radius=[0.7, 0.0, 0.0])
    x = np.asarray(stationary_parts(p, noise))
    for lag in (1, 2, 5):
        np.testing.assert_allclose((x[:, lag:] * x[:, :-lag]).mean() / x.var(), 0.7**lag, atol=0.02)


def test_fractional_part_has_long_memory():
    noise = jax.random.normal(jax.random.key(2), (200, 1024))
    p = parameters(fraction=0.3)
    x = np.asarray(stationary_parts(p, noise))
    # rho_1 = d / (1 - d) for fractional noise (Hosking 1981)
    np.testing.assert_allclose((x[:, 1:] * x[:, :-1]).mean() / x.var(), 0.3 / 0.7, atol=0.03)


@pytest.mark.parametrize("season", [1, 2, 7, 12, 52, 168])
def test_seasonal_difference_undoes_the_seasonal_sum(season):
    x = np.random.default_rng(3).normal(size=333).astype(np.float32)
    summed = np.asarray(seasonal_sum(jnp.array(x), jnp.int32(season)))
    np.testing.assert_allclose(summed[:season], x[:season])
    np.testing.assert_allclose(summed[season:] - summed[:-season], x[season:], atol=2e-4)


@pytest.mark.parametrize("season, pole", [(1, 0.9), (7, -0.2), (12, 1.0), (52, 0.5), (333, 0.9), (400, 0.9)])
def test_seasonal_sum_is_its_recursion(season, pole):
    x = np.random.default_rng(6).normal(size=333)
    expected = x.copy()
    for t in range(season, len(x)):
        expected[t] += pole * expected[t - season]
    actual = seasonal_sum(jnp.array(x, jnp.float32), jnp.int32(season), jnp.float32(pole))
    np.testing.assert_allclose(actual, expected, atol=1e-4)


@pytest.mark.parametrize("fraction", [0.0, 0.2, 0.45])
def test_fractional_factor_is_the_power_of_a_difference(fraction):
    frequencies = np.linspace(0.5 / 1152, 0.5, 577)
    expected = (1 - np.exp(-2j * np.pi * frequencies)) ** -fraction
    actual = sarima.fractional_factor(jnp.float32(fraction), jnp.array(frequencies, jnp.float32))
    np.testing.assert_allclose(actual, expected, rtol=2e-6)


@pytest.mark.parametrize("n", [1, 7, 11, 960, 961, 1152, 1153, 2049])
def test_next_smooth_number(n):
    smooth = sorted(2**a * 3**b * 5**c for a in range(13) for b in range(8) for c in range(6))
    assert sarima.next_smooth(n) == next(m for m in smooth if m >= n)


def test_the_filter_is_the_same_on_circles_of_odd_and_of_even_length():
    noise = np.zeros(1152, np.float32)
    noise[:300] = np.random.default_rng(7).normal(size=300)
    p = parameters(ar_radius=[0.8, 0.6, 0.0], ar_angle=[0.0, 0.7, 0.0], seasonal_ma=0.3)
    even, odd = (sarima.stationary_part(p, jnp.array(noise[:m]), jnp.int32(12)) for m in (1152, 1125))
    np.testing.assert_allclose(even[:1000], odd[:1000], atol=1e-4)


def test_differences_undo_the_integration():
    x = np.random.default_rng(4).normal(size=200).astype(np.float32)
    p = parameters(difference=True, seasonal_difference=True, drift=0.25)
    integrated = np.asarray(quick_jit(sarima.integrate)(p, jnp.array(x), jnp.int32(12)), np.float64)
    once = np.diff(integrated) - 0.25
    np.testing.assert_allclose(once[12:] - once[:-12], x[13:], atol=2e-3)


def test_draws_are_standardised_and_poles_stay_inside_the_circle():
    keys = jax.random.split(jax.random.key(5), 500)
    p = quick_jit(jax.vmap(sarima.draw_parameters))(keys, jnp.resize(jnp.array([1, 4, 12]), 500))
    assert p.ar_radius.max() <= sarima.MAX_RADIUS and p.ma_radius.max() <= sarima.MAX_RADIUS
    assert not (p.seasonal_difference | (p.seasonal_ar != 0))[::3].any()  # season 1 has no seasonal part
    assert 0.5 < p.difference.mean() < 0.7 and set(np.asarray((p.ar_radius > 0).sum(1))) == {0, 1, 2, 3}
    path = quick_jit(jax.vmap(lambda key: sarima.draw(key, jnp.arange(300.0), jnp.int32(4)).noisy))(keys)
    np.testing.assert_allclose(path.mean(axis=1), 0.0, atol=1e-3)
    np.testing.assert_allclose(path.std(axis=1), 1.0, atol=1e-3)


@pytest.mark.parametrize("season", [52, 96, 168])
def test_a_strong_seasonal_pole_echoes_at_multiples_of_the_season_only(season):
    """On a circle, echoes that wrap around would return at other lags."""
    impulse = jnp.zeros(1024).at[0].set(1.0)
    response = sarima.stationary_part(parameters(seasonal_ar=0.9), impulse, jnp.int32(season))
    expected = np.zeros(1024)
    expected[::season] = 0.9 ** np.arange(len(expected[::season]))
    np.testing.assert_allclose(response, expected, atol=1e-4)
