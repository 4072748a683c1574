"""Local linear trend."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.families import local_linear_trend
from tests.prior.families.draws import draws, lag_one


@pytest.mark.parametrize("reversion", [0.0, 0.2])
def test_local_linear_trend_recursion(reversion):
    eta, zeta = np.random.default_rng(0).normal(size=(2, 50)).astype(np.float32)
    trend = local_linear_trend.simulate(jnp.array(eta), jnp.array(zeta), 0.3, reversion)
    level, slope, levels, slopes = 0.0, 0.3, [], []
    for e, z in zip(eta, zeta):
        slope = slope + reversion * (0.3 - slope) + z
        levels.append(level)
        slopes.append(slope)
        level = level + slope + e
    np.testing.assert_allclose(trend.level, levels, atol=1e-3)
    np.testing.assert_allclose(trend.slope, slopes, atol=1e-4)


def test_slope_of_the_trend_is_itself_a_random_walk():
    noise = jax.random.normal(jax.random.key(1), (200, 400))
    trend = jax.vmap(lambda zeta: local_linear_trend.simulate(jnp.zeros(400), zeta, 0.0))(noise)
    slopes = np.diff(np.asarray(trend.level, np.float64))
    assert abs(lag_one(np.diff(slopes))) < 0.02  # its increments are white
    np.testing.assert_allclose(slopes.var(axis=0)[[99, 399 - 1]], [100, 399], rtol=0.3)  # its variance grows as t


def test_local_linear_trend_has_a_season_and_an_error():
    path = draws(local_linear_trend.draw, 200, season=12)
    assert (np.asarray(path.noisy - path.clean).std(axis=1) > 0.005).all()
    second = np.diff(np.asarray(path.clean, np.float64), n=2)
    seasonal = (second[:, 12:] * second[:, :-12]).mean(axis=1) / second.var(axis=1)
    assert 0.3 < (seasonal > 0.5).mean() < 0.8
