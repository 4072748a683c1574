"""The observation model: each part does what was asked of it, and no more."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from fimjax.config import PriorConfig
from fimjax.prior import observation
from fimjax.prior.path import Path, exact
from tests.prior.quick import quick_jit

N = 400
SHARES = ("growth", "jumps", "cycles", "days", "weeks", "exponential", "noise", "unrest", "outliers", "missing")
QUIET = PriorConfig(**dict.fromkeys(SHARES, 0.0))
EVERYWHERE = jnp.ones(N, bool)
EACH_STEP = jnp.arange(N)
WAVE = jnp.sin(jnp.arange(N) / 7.0) * 3.0 + 20.0


@functools.partial(quick_jit, static_argnames="config")
def measure_all(keys, path, season, may_exponentiate, may_grow, has_zero, noise, config):
    draw = functools.partial(observation.draw_values, config=config)
    draw_all = jax.vmap(draw, in_axes=(0, *[None] * 8))
    return draw_all(keys, path, EVERYWHERE, EACH_STEP, season, may_exponentiate, may_grow, has_zero, noise)


def measure(config, number=500, path=None, may_exponentiate=True, may_grow=True, noise=1.0, season=12):
    path = exact(WAVE) if path is None else path
    keys = jax.random.split(jax.random.key(0), number)
    values = measure_all(keys, path, season, may_exponentiate, may_grow, False, noise, config)
    return jax.tree.map(np.asarray, values)


def test_a_quiet_observer_changes_nothing():
    path = measure(QUIET, number=3)
    np.testing.assert_array_equal(path.noisy, np.broadcast_to(WAVE, (3, N)))
    np.testing.assert_array_equal(path.clean, np.broadcast_to(WAVE, (3, N)))


def test_exponentials_are_positive_with_a_spread_as_asked():
    path = measure(dataclasses.replace(QUIET, exponential=1.0, noise=1.0, outliers=1.0), path=exact(WAVE - 50.0))
    assert (path.clean > 0).all() and (path.noisy > 0).all()
    spread = np.log(path.clean).std(axis=1)
    low, high = observation.GROWTH_RANGE
    assert spread.min() >= low * 0.99 and spread.max() <= high * 1.01 and spread.max() > 10 * spread.min()


def test_share_of_exponentials_and_the_family_that_must_not():
    config = dataclasses.replace(QUIET, exponential=0.6)
    changed = (measure(config).clean != np.asarray(WAVE)).any(axis=1)
    assert 0.5 < changed.mean() < 0.7
    assert (measure(config, may_exponentiate=False).clean == np.asarray(WAVE)).all()


def test_steady_growth_is_mostly_up_in_its_share(monkeypatch):
    monkeypatch.setattr(observation, "BENDING", 0.0)
    config = dataclasses.replace(QUIET, growth=0.4)
    added = (measure(config, season=1).clean - np.asarray(WAVE)) / np.asarray(WAVE).std()
    rises = added[np.abs(added[:, -1]) > 1e-3, -1]
    assert 0.33 < len(rises) / len(added) < 0.47 and 0.8 < (rises > 0).mean() < 0.98
    low, high = (observation.YEARLY_RISE * rise for rise in (observation.MIN_RISE, config.max_rise))
    assert low * 0.99 <= np.abs(rises).min() and np.abs(rises).max() <= high * 1.01
    assert np.abs(np.diff(added, n=2)).max() < 1e-3  # straight
    assert (measure(config, may_grow=False).clean == np.asarray(WAVE)).all()


def test_growth_bends_in_its_share_and_rises_by_one_on_average():
    numbers, numbers_2N = (
        jax.random.uniform(jax.random.key(i), (400, *shape)) for i, shape in ((8, (3,)), (9, (2, N)))
    )
    kinks = {}
    for season in (1, 12):
        slopes = np.asarray(jax.vmap(observation.slopes, in_axes=(0, 0, None))(numbers, numbers_2N, season))
        bends = (slopes != 1.0).any(axis=1)
        assert abs(bends.mean() - observation.BENDING) < 0.08 and abs(slopes.mean() - 1.0) < 0.1
        kinks[season] = (np.diff(slopes[bends], axis=1) != 0).sum(axis=1).mean()
    np.testing.assert_allclose(kinks[1] / kinks[12], 12**0.5, rtol=0.1)
    assert 20 < kinks[1] < 40


@pytest.mark.parametrize("season, share", [(1, 0.9), (4, 0.64), (12, 0.48), (168, 0.11)])
def test_long_steps_grow_more_often(season, share):
    config = dataclasses.replace(QUIET, growth=0.9)
    grown = (measure(config, season=season).clean != np.asarray(WAVE)).any(axis=1)
    assert abs(grown.mean() - share) < 0.06


def test_levels_jump_in_their_share_and_stay():
    config = dataclasses.replace(QUIET, jumps=0.3)
    added = (measure(config, season=12).clean - np.asarray(WAVE)) / np.asarray(WAVE).std()
    has_jumped = np.abs(added).max(axis=1) > 1e-3
    assert 0.22 < has_jumped.mean() < 0.38
    steps = np.abs(np.diff(added[has_jumped], axis=1))
    jumps = (steps > 1e-3).sum(axis=1)  # once in 8 to 150 steps
    assert jumps.max() < N / 5 and 5 < np.median(jumps) < 25
    assert np.median(steps[steps > 1e-3]) > 0.3 and abs(added[has_jumped, -1].mean()) < 2.0  # both ways
    assert (measure(config, may_grow=False).clean == np.asarray(WAVE)).all()


def test_exponentiation_is_of_the_standardised_path():
    spread = observation.spread_of(WAVE, EVERYWHERE)
    z = (np.asarray(WAVE) - np.asarray(WAVE).mean()) / np.asarray(WAVE).std()
    np.testing.assert_allclose(observation.exponentiate(exact(WAVE), spread, 0.5).clean, np.exp(0.5 * z), rtol=1e-3)


@pytest.mark.parametrize("is_factor", [False, True])
@pytest.mark.parametrize("level", [0.05, 0.4])
def test_noise_has_the_deviation_asked_for(is_factor, level):
    noise = level * jax.random.normal(jax.random.key(1), (N,))
    spread = observation.spread_of(WAVE, EVERYWHERE)
    disturbed = observation.disturb(WAVE, spread, noise, is_factor)
    np.testing.assert_allclose(jnp.std(disturbed - WAVE), level * jnp.std(WAVE), rtol=0.1)


def test_noise_levels_lie_within_bounds_in_both_halves():
    u = jax.random.uniform(jax.random.key(2), (2, 2_000))
    level = np.asarray(jax.vmap(lambda k, s: observation.noise_level(k, s, QUIET))(*u))
    assert level.min() >= 0 and level.max() <= QUIET.max_noise
    wide = np.asarray(u[0]) < 0.5
    assert 0.01 <= level[wide].min() < 0.012 and level[wide].max() > 0.45
    np.testing.assert_allclose(level[~wide].mean(), 0.1 * np.sqrt(2 / np.pi), rtol=0.1)
    none = dataclasses.replace(QUIET, max_noise=0.0)
    assert not jax.vmap(lambda k, s: observation.noise_level(k, s, none))(*u).any()


def test_noise_is_on_noisy_only_in_its_share_and_never_on_counts():
    config = dataclasses.replace(QUIET, noise=0.7)
    path = measure(config)
    assert (path.clean == np.asarray(WAVE)).all()
    assert 0.6 < (path.noisy != path.clean).any(axis=1).mean() < 0.8
    assert 0.25 < (lambda p: (p.noisy != p.clean).any(axis=1).mean())(measure(config, noise=0.5)) < 0.45
    still = measure(dataclasses.replace(config, outliers=1.0), noise=0.0)
    assert (still.noisy == still.clean).all()


def test_what_is_beside_a_season_knows_nothing_of_it():
    t = np.arange(N)
    season = 5.0 * np.sin(2 * np.pi * t / 12)
    errors = 0.3 * np.random.default_rng(0).normal(size=N)
    found = lambda y: observation.beside_season(jnp.asarray(y, jnp.float32), EVERYWHERE, jnp.array(12))
    np.testing.assert_allclose(found(season + errors).deviation, 0.3, rtol=0.1)
    np.testing.assert_allclose(found(season + errors).movement, 0.3 * np.sqrt(2 / 12) * np.sqrt(2 / np.pi), rtol=0.1)
    np.testing.assert_allclose(found(season + 0.01 * t).movement, 0.12 / np.sqrt(12), rtol=0.02)
    np.testing.assert_allclose(found(season + 0.01 * t).deviation, 0.01 * N / np.sqrt(12), rtol=0.1)
    nowhere = observation.beside_season(WAVE, EVERYWHERE & False, jnp.array(12))
    assert nowhere.deviation == 0 and nowhere.movement == 0


def test_errors_keep_up_with_a_level_that_moves():
    config = dataclasses.replace(QUIET, unrest=0.5)
    moved = np.asarray(observation.beside_season(WAVE, EVERYWHERE, jnp.array(12)).movement)
    path = measure(config, season=12)
    errors = (path.noisy - path.clean).std(axis=1)
    is_restless = errors > 0
    assert 0.4 < is_restless.mean() < 0.6 and (path.clean == np.asarray(WAVE)).all()
    low, high = observation.LEAST_OF_MONTHS, observation.UNREST_RANGE[1]
    errors = errors[is_restless] / min(moved, 0.5 * np.asarray(WAVE).std() / high)
    assert 0.7 * low < errors.min() and errors.max() < 1.4 * high
    for quiet in (measure(config, season=7), measure(config, season=1), measure(config, season=12, noise=0.0)):
        assert (quiet.noisy == quiet.clean).all()


def test_outliers_are_few_and_far():
    path = measure(dataclasses.replace(QUIET, outliers=1.0))
    shift = np.abs(path.noisy - path.clean)
    assert 0.003 < (shift > 0).mean() < 0.05 and (shift > 0).any(axis=1).mean() > 0.8
    assert shift[shift > 0].min() > 2.0 * np.asarray(WAVE).std()


def test_outliers_go_both_ways_by_three_to_eight_deviations():
    u = jax.random.uniform(jax.random.key(5), (200_000,))
    shifts = np.asarray(observation.outlier_shifts(u, 0.04))
    outliers = shifts[shifts != 0]
    np.testing.assert_allclose(len(outliers) / len(shifts), 0.04, rtol=0.05)
    # Uniform over both stretches, the gap between them closed.
    assert stats.kstest(np.where(outliers > 0, outliers + 2, outliers + 8) / 10, "uniform").pvalue > 0.01


def test_values_at_chosen_steps_are_those_of_the_path_with_noise_of_its_spread():
    steps = jnp.array([[1, 5, 9], [350, 398, 399]])
    config, number = dataclasses.replace(QUIET, noise=1.0), 20_000

    def draw(key):
        return observation.draw_values(key, exact(WAVE), EVERYWHERE, steps, 12, False, False, False, 1.0, config)

    path = quick_jit(jax.vmap(draw))(jax.random.split(jax.random.key(6), number))
    np.testing.assert_array_equal(path.clean, np.broadcast_to(WAVE[steps], (number, 2, 3)))
    noise = np.asarray(path.noisy - path.clean) / np.asarray(WAVE).std()
    # Half log-uniform from 0.01 to 0.5, half |N(0, 0.1)|, which the bound hardly touches.
    variance = 0.5 * (0.5**2 - 0.01**2) / (2 * np.log(50)) + 0.5 * 0.1**2
    np.testing.assert_allclose(noise.var(axis=0), variance, rtol=0.15)
    apart = np.corrcoef(noise.reshape(number, 6).T)[np.triu_indices(6, 1)]
    assert np.abs(apart).max() < 0.1  # each slot has noise of its own


def test_innovations_of_the_path_are_kept():
    path = Path(clean=WAVE, noisy=WAVE + 1.0)
    np.testing.assert_allclose(measure(QUIET, 3, path).noisy, np.broadcast_to(WAVE + 1.0, (3, N)))


def gaps(config, number=600):
    draw = quick_jit(jax.vmap(lambda key: observation.draw_observed(key, EACH_STEP[None], N, config)))
    return np.asarray(draw(jax.random.split(jax.random.key(3), number)))[:, 0]


def test_share_of_series_with_gaps():
    assert gaps(QUIET).all()
    assert 0.3 < (~gaps(dataclasses.replace(QUIET, missing=0.4))).any(axis=1).mean() < 0.5


def test_gaps_are_random_or_a_regular_stride_within_the_limit():
    observed = gaps(dataclasses.replace(QUIET, missing=1.0, max_missing=0.75))
    spacings = [np.unique(np.diff(np.flatnonzero(row))) for row in observed]
    regular = [int(s[0]) for s in spacings if len(s) == 1 and s[0] > 1]
    assert 0.27 < len(regular) / len(observed) < 0.43 and set(regular) == set(observation.STRIDES)
    assert (~observed).mean(axis=1).max() < 0.82
    longest = [np.diff(np.flatnonzero(np.pad(row, 1, constant_values=True))).max() for row in observed]
    runs = (np.array(longest) > N / 10).mean()  # at random, gaps of forty steps do not happen
    assert 0.15 < runs < 0.28
    limited = gaps(dataclasses.replace(QUIET, missing=1.0, max_missing=0.3))
    assert (~limited).mean(axis=1).max() < 0.4


def test_strides_are_counted_in_steps_whatever_the_slots():
    config = dataclasses.replace(QUIET, missing=1.0, max_missing=0.5)  # every second step, or at random
    steps = jnp.array([[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]])
    draw = quick_jit(jax.vmap(lambda key: observation.draw_observed(key, steps, 6, config)))
    observed = np.asarray(draw(jax.random.split(jax.random.key(7), 600)))
    regular = (observed == observed[:, :, :1]).all(axis=2).all(axis=1) & (observed[:, 0, 0] != observed[:, 1, 0])
    assert 0.27 < regular.mean() < 0.43


def test_keep_two_restores_the_last_slots_of_starved_windows():
    valid = jnp.array([[True, True, True, False], [True, True, True, False], [True, True, True, True]])
    observed = jnp.array([[False] * 4, [True, False, False, True], [True, True, False, False]])
    kept = observation.keep_two(observed, valid)
    np.testing.assert_array_equal(kept[0], [False] * 4)  # an early window may be empty
    np.testing.assert_array_equal(kept[1], [True, True, True, False])
    np.testing.assert_array_equal(kept[2], [True, True, False, False])


def test_seasons_are_hidden_and_wrong_in_their_shares():
    u = jax.random.uniform(jax.random.key(4), (4_000,))
    config = PriorConfig(wrong_season=0.1)
    told = np.asarray(jax.vmap(lambda x: observation.reported_season(x, 12, config))(u))
    assert set(told) == set(config.seasons)
    of_list = lambda season: np.mean(np.array(config.seasons) == season)
    np.testing.assert_allclose((told == 1).mean(), config.hidden_season + 0.1 * of_list(1), atol=0.02)
    np.testing.assert_allclose((told != 12).mean(), config.hidden_season + 0.1 * (1 - of_list(12)), atol=0.02)
    honest = PriorConfig(wrong_season=0.0)
    assert set(np.asarray(jax.vmap(lambda x: observation.reported_season(x, 12, honest))(u))) == {1, 12}


def test_yearly_growth_is_wider():
    config = dataclasses.replace(QUIET, exponential=1.0)
    wide, narrow = (np.log(measure(config, season=season).clean).std(axis=1) for season in (1, 168))
    assert wide.min() > 3.9 * observation.GROWTH_RANGE[0] and wide.max() > observation.GROWTH_RANGE[1]
    assert np.median(wide) > 1.5 * np.median(narrow)


def test_floors_lie_below_all_values_and_at_zero_for_what_has_one():
    valid = jnp.arange(N) > 5
    numbers = jax.random.uniform(jax.random.key(7), (2_000, 2))
    tell = jax.vmap(observation.reported_floor, in_axes=(0, None, None, None))

    def told(values, has_zero):
        measured = observation.Measured(values, values, jnp.array(has_zero))
        return np.asarray(tell(numbers, measured, valid, QUIET))

    floors = told(WAVE, False)
    known = np.isfinite(floors)
    assert abs(known.mean() - (1 - QUIET.hidden_floor)) < 0.04 and (floors[~known] == -np.inf).all()
    low, high = observation.FLOOR_RANGE
    heights = (np.asarray(WAVE)[6:].min() - floors[known]) / np.asarray(WAVE)[6:].std()
    assert low * 0.9 < heights.min() < 0.1 and 20 < heights.max() < high * 1.01
    assert set(told(WAVE, True)) == {0.0, -np.inf}
    np.testing.assert_allclose(np.unique(told(WAVE - 30.0, True))[1], np.asarray(WAVE)[6:].min() - 30.0)


def test_exponentials_have_a_zero():
    has_zero = measure(dataclasses.replace(QUIET, exponential=0.5)).has_zero
    assert 0.4 < has_zero.mean() < 0.6
