"""Empirical covariances against the kernels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ive

from fimjax.prior.families import gaussian_process as gp
from tests.prior.quick import fair_jit, quick_jit

DRAWS = 20_000
TIMES = jnp.array([0.0, 1.3, 4.0, 9.7, 20.0, 26.0])


def covariance(process):
    """Empirical covariance of a process over many draws."""
    paths = fair_jit(jax.vmap(process))(jax.random.split(jax.random.key(0), DRAWS))
    return np.asarray(paths.T @ paths / DRAWS)


def kernel(function):
    lag = np.asarray(TIMES)[:, None] - np.asarray(TIMES)[None, :]
    return function(lag)


@pytest.mark.parametrize("roughness", [0.3, 1.5])
def test_periodic_has_its_kernel(roughness):
    expected = kernel(lambda lag: np.exp(-2 * np.sin(np.pi * lag / 12) ** 2 / roughness**2))
    actual = covariance(lambda key: gp.periodic_process(key, TIMES, 12.0, roughness))
    np.testing.assert_allclose(actual, expected, atol=0.04)


def test_locally_periodic_has_its_kernel_and_so_decorrelates_over_periods():
    expected = kernel(lambda lag: np.exp(-2 * np.sin(np.pi * lag / 4) ** 2 / 0.8**2 - lag**2 / (2 * 10.0**2)))
    actual = covariance(lambda key: gp.locally_periodic_process(key, TIMES, 4.0, 0.8, 10.0))
    np.testing.assert_allclose(actual, expected, atol=0.04)
    assert actual[0, 2] > 0.85 and actual[0, 4] < 0.25  # one period apart, five periods apart


@pytest.mark.parametrize("roughness", [0.1, 0.35, 2.0])
def test_harmonic_variances_are_bessel_functions(roughness):
    k = np.arange(gp.HARMONICS + 1)
    exact = ive(k, roughness**-2.0) * np.where(k == 0, 1, 2)
    np.testing.assert_allclose(gp.harmonic_variances(roughness), exact / exact.sum(), atol=2e-6)
    assert exact.sum() > 0.997  # the share of the variance that the truncated series keeps


def test_periodic_draws_repeat_with_the_season():
    times = jnp.arange(96.0)
    draw = quick_jit(jax.vmap(lambda key: gp.draw_periodic(key, times, jnp.int32(12)).clean))
    path = draw(jax.random.split(jax.random.key(3), 20))
    np.testing.assert_allclose(path[:, 12:], path[:, :-12], atol=2e-3)
    assert np.abs(np.asarray(path[:, 6:] - path[:, :-6])).max(axis=1).min() > 0.01


def test_linear_periodic_minus_its_line_repeats():
    times = jnp.arange(96.0)
    path = np.asarray(quick_jit(gp.draw_linear_periodic)(jax.random.key(4), times, jnp.int32(12)).clean)
    slope = (path[12:] - path[:-12]).mean() / 12
    assert abs(slope) > 1e-3
    rest = path - slope * np.arange(96)
    np.testing.assert_allclose(rest[12:], rest[:-12], atol=2e-3)


def test_without_a_season_periods_vary_and_are_longer_than_the_shortest():
    times = jnp.arange(480.0)
    keys = jax.random.split(jax.random.key(5), 500)
    draw = quick_jit(jax.vmap(lambda key: gp._draw_scales(key, times, jnp.int32(1))))
    _, period, roughness = draw(keys)
    assert period.min() >= gp.MIN_PERIOD and period.max() > 200 and jnp.median(period) < 100
    assert roughness.min() >= gp.MIN_ROUGHNESS and roughness.max() <= 1
