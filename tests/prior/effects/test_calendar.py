"""Daily and weekly patterns."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.effects.calendar import add_daily_pattern, add_days_off, daily_and_weekly_patterns
from fimjax.prior.effects.noise import noise
from fimjax.prior.family import noise_free
from fimjax.prior.timescale import DAYS_PER_WEEK
from tests.prior.effects.apply import QUIET, WAVE_DEVIATION, apply, changed_share

DAY = np.sqrt(2.0) * np.cos(2 * np.pi * np.arange(24) / 24)  # mean 0, standard deviation 1
HOURS = jnp.tile(jnp.asarray(DAY, jnp.float32), 7 * 3)


def weeks(**numbers):
    names = ("start", "number_off", "scale", "shift", "draws_own_shifts")
    given = [numbers.get(name, 0.5) for name in names]
    own_shifts = np.linspace(0.1, 0.9, DAYS_PER_WEEK)
    path = add_days_off(jnp.array([*given, *own_shifts]), noise_free(HOURS), jnp.ones(len(HOURS), bool), 24)
    return np.asarray(path.noisy).reshape(3, DAYS_PER_WEEK, 24)


def test_all_weeks_are_equal_and_have_one_or_two_days_off():
    found = weeks(start=0.0, scale=0.0, draws_own_shifts=0.9)
    np.testing.assert_allclose(found[1:], found[:-1], atol=1e-5)
    full = np.ptp(DAY)
    np.testing.assert_allclose(np.ptp(found[0], axis=1), [0.2 * full] * 2 + [full] * 5, atol=1e-5)
    one_off = weeks(start=0.0, number_off=0.9, scale=0.0, draws_own_shifts=0.9)
    assert (np.ptp(one_off[0], axis=1) < 0.5 * full).sum() == 1


def test_days_off_are_shifted_and_each_day_may_have_its_own_shift():
    means = weeks(start=0.0, shift=0.9, draws_own_shifts=0.9).mean(axis=(0, 2))
    assert (means[:2] > 0.5).all() and np.abs(means[2:]).max() < 1e-5
    own = weeks(start=0.0, draws_own_shifts=0.1).mean(axis=(0, 2))
    assert (np.diff(own) > 0.01).all()


def test_week_starts_on_any_day():
    assert np.abs(weeks(start=0.3, scale=0.0) - weeks(start=0.0, scale=0.0)).max() > 0.5


def test_daily_pattern_repeats_and_has_its_size():
    draw = jax.vmap(lambda key: add_daily_pattern(key, noise_free(jnp.zeros(24 * 7)), 4.0, 24).clean)
    found = np.asarray(draw(jax.random.split(jax.random.key(0), 50)))
    np.testing.assert_allclose(found[:, 24:], found[:, :-24], atol=1e-5)
    assert np.median(found.std(axis=1)) == pytest.approx(4.0 * 0.7, rel=0.3)


@pytest.mark.parametrize("pattern", ["daily_pattern", "weekly_pattern"])
def test_patterns_occur_in_their_share_of_series_whose_season_is_a_day(pattern):
    config = dataclasses.replace(QUIET, **{pattern: 0.4})
    assert 0.3 < changed_share(daily_and_weekly_patterns, config, season=24) < 0.5
    assert changed_share(daily_and_weekly_patterns, config, season=12) == 0
    assert changed_share(daily_and_weekly_patterns, config, season=24, may_add_structure=False) == 0


def test_series_with_a_daily_pattern_have_strong_seasons_and_noise():
    config = dataclasses.replace(QUIET, daily_pattern=1.0)
    clean, noisy, state = apply((daily_and_weekly_patterns, noise), config, season=24)
    by_day = clean[:, : clean.shape[1] // 24 * 24].reshape(len(clean), -1, 24)
    assert np.median(by_day.mean(axis=1).std(axis=1)) > 2 * WAVE_DEVIATION
    assert (noisy != clean).any(axis=1).all() and state.has_daily_pattern.all()
    np.testing.assert_array_equal(state.base, state.path.noisy)
