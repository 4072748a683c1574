"""Measurement noise."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.effects.noise import LEVEL_NOISE, MIN_MONTHLY_LEVEL_NOISE, add_noise, noise, noise_deviation
from fimjax.prior.effects.outliers import outliers
from fimjax.prior.effects.scale import seasonally_adjusted_scale, spread
from tests.prior.effects.apply import EVERYWHERE, QUIET, WAVE, WAVE_DEVIATION, N, apply


@pytest.mark.parametrize("is_multiplicative", [False, True])
@pytest.mark.parametrize("deviation", [0.05, 0.4])
def test_added_noise_has_its_standard_deviation(is_multiplicative, deviation):
    errors = deviation * jax.random.normal(jax.random.key(1), (N,))
    noisy = add_noise(WAVE, spread(WAVE, EVERYWHERE), errors, is_multiplicative)
    np.testing.assert_allclose(jnp.std(noisy - WAVE), deviation * WAVE_DEVIATION, rtol=0.1)


def test_deviations_are_log_uniform_or_normal_within_the_bound():
    u = jax.random.uniform(jax.random.key(2), (2, 2_000))
    found = np.asarray(noise_deviation(*u, max_noise=0.5))
    assert found.min() >= 0 and found.max() <= 0.5
    is_wide = np.asarray(u[0]) < 0.5
    assert 0.01 <= found[is_wide].min() < 0.012 and found[is_wide].max() > 0.45
    np.testing.assert_allclose(found[~is_wide].mean(), 0.1 * np.sqrt(2 / np.pi), rtol=0.1)
    assert not noise_deviation(*u, max_noise=0.0).any()


@pytest.mark.parametrize(
    "traits, low, high",
    [({}, 0.6, 0.8), ({"has_own_noise": True}, 0.25, 0.45), ({"may_add_noise": False}, 0.0, 0.0)],
    ids=["plain", "own_noise", "no_noise"],
)
def test_noise_is_on_noisy_values_only_in_the_share_of_the_family(traits, low, high):
    config = dataclasses.replace(QUIET, noise=0.7, process_noise=0.5)
    clean, noisy, _ = apply(noise, config, **traits)
    assert (clean == np.asarray(WAVE)).all()
    assert low <= (noisy != clean).any(axis=1).mean() <= high


def test_noise_at_slots_is_independent_and_has_the_spread_of_the_path():
    steps, number = jnp.array([[1, 5, 9], [350, 398, 399]]), 20_000
    _, noisy, _ = apply(noise, dataclasses.replace(QUIET, noise=1.0), number=number, slot_steps_WT=steps)
    errors = (noisy - np.asarray(WAVE)[np.asarray(steps)].reshape(-1)) / WAVE_DEVIATION
    # Half log-uniform from 0.01 to 0.5, half |N(0, 0.1^2)|.
    variance = 0.5 * (0.5**2 - 0.01**2) / (2 * np.log(50)) + 0.5 * 0.1**2
    np.testing.assert_allclose(errors.var(axis=0), variance, rtol=0.15)
    correlations = np.corrcoef(errors.T)[np.triu_indices(6, 1)]
    assert np.abs(correlations).max() < 0.1


def test_level_noise_is_in_proportion_to_the_changes_of_the_level():
    config = dataclasses.replace(QUIET, level_noise=0.5)
    step_change = float(seasonally_adjusted_scale(WAVE, EVERYWHERE, jnp.array(12)).step_change)
    clean, noisy, _ = apply(noise, config, season=12)
    errors = (noisy - clean).std(axis=1)
    assert 0.4 < (errors > 0).mean() < 0.6
    low, high = MIN_MONTHLY_LEVEL_NOISE, LEVEL_NOISE[1]
    ratios = errors[errors > 0] / min(step_change, 0.5 * WAVE_DEVIATION / high)
    assert 0.7 * low < ratios.min() and ratios.max() < 1.4 * high


@pytest.mark.parametrize("options", [{"season": 7}, {"season": 1}, {"season": 12, "may_add_noise": False}])
def test_other_series_have_no_level_noise(options):
    clean, noisy, _ = apply((noise, outliers), dataclasses.replace(QUIET, level_noise=0.5), **options)
    assert (noisy == clean).all()
