"""Scales with and without the season."""

import jax.numpy as jnp
import numpy as np

from fimjax.prior.effects.scale import MIN_DEVIATION, MIN_LEVEL_UNIT, level_unit, seasonally_adjusted_scale, spread
from tests.prior.effects.apply import EVERYWHERE, WAVE, N

SEASONAL = 5.0 * np.sin(2 * np.pi * np.arange(N) / 12)


def adjusted(values):
    return seasonally_adjusted_scale(jnp.asarray(values, jnp.float32), EVERYWHERE, jnp.array(12))


def test_spread_is_that_of_the_steps_that_exist():
    found = spread(WAVE, jnp.arange(N) >= 100)
    values = np.asarray(WAVE)[100:]
    np.testing.assert_allclose(found, [values.mean(), values.std(), np.abs(values).mean()], rtol=1e-4)
    assert spread(jnp.zeros(N), EVERYWHERE).deviation == np.float32(MIN_DEVIATION)


def test_adjusted_scales_do_not_depend_on_the_season():
    errors = 0.3 * np.random.default_rng(0).normal(size=N)
    np.testing.assert_allclose(adjusted(SEASONAL + errors).deviation, 0.3, rtol=0.1)
    expected_change = 0.3 * np.sqrt(2 / 12) * np.sqrt(2 / np.pi)
    np.testing.assert_allclose(adjusted(SEASONAL + errors).step_change, expected_change, rtol=0.1)
    line = 0.01 * np.arange(N)
    np.testing.assert_allclose(adjusted(SEASONAL + line).step_change, 0.12 / np.sqrt(12), rtol=0.02)
    np.testing.assert_allclose(adjusted(SEASONAL + line).deviation, 0.01 * N / np.sqrt(12), rtol=0.1)


def test_adjusted_scales_are_zero_without_a_pair_of_steps_one_season_apart():
    assert seasonally_adjusted_scale(WAVE, ~EVERYWHERE, jnp.array(12)) == (0, 0)
    assert seasonally_adjusted_scale(WAVE, jnp.arange(N) >= N - 12, jnp.array(12)) == (0, 0)


def test_unit_of_level_changes_has_a_lower_bound():
    unit = level_unit(jnp.asarray(SEASONAL, jnp.float32), EVERYWHERE, jnp.array(12))
    np.testing.assert_allclose(unit, MIN_LEVEL_UNIT * SEASONAL.std(), rtol=0.01)
