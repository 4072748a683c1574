"""Random walk, local linear trend, growth, regimes and counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from fimjax.prior.families import counts, growing, local_linear_trend, random_walk, regimes
from tests.prior.quick import quick_jit


def draws(draw, number, steps=400, season=1, seed=0):
    keys = jax.random.split(jax.random.key(seed), number)
    return quick_jit(jax.vmap(lambda key: draw(key, jnp.arange(float(steps)), jnp.int32(season))))(keys)


def lag_one(x):
    x = x - x.mean(axis=1, keepdims=True)
    return (x[:, 1:] * x[:, :-1]).mean() / x.var()


def test_random_walk_increments_are_uncorrelated_and_drift():
    increments = np.diff(np.asarray(draws(random_walk.draw, 300).noisy, np.float64))
    assert abs(lag_one(increments)) < 0.02
    drift = increments.mean(axis=1)
    assert (np.abs(drift) > 0.2).sum() > 10 and (np.abs(drift) < 0.1).sum() > 100
    assert (np.abs(increments).max(axis=1) > 5.0).sum() > 30  # the heavy-tailed ones


def test_walk_is_a_sum():
    np.testing.assert_allclose(random_walk.walk(jnp.array([1.0, -2.0, 4.0]), 0.5), [1.5, 0.0, 4.5])


@pytest.mark.parametrize("pull", [0.0, 0.2])
def test_local_linear_trend_recursion(pull):
    eta, zeta = np.random.default_rng(0).normal(size=(2, 50)).astype(np.float32)
    trend = local_linear_trend.wander(jnp.array(eta), jnp.array(zeta), 0.3, pull)
    level, slope, levels, slopes = 0.0, 0.3, [], []
    for e, z in zip(eta, zeta):
        slope = slope + pull * (0.3 - slope) + z
        levels.append(level)
        slopes.append(slope)
        level = level + slope + e
    np.testing.assert_allclose(trend.level, levels, atol=1e-3)
    np.testing.assert_allclose(trend.slope, slopes, atol=1e-4)


def test_slope_of_the_trend_is_itself_a_random_walk():
    noise = jax.random.normal(jax.random.key(1), (200, 400))
    trend = jax.vmap(lambda zeta: local_linear_trend.wander(jnp.zeros(400), zeta, 0.0))(noise)
    slopes = np.diff(np.asarray(trend.level, np.float64))
    assert abs(lag_one(np.diff(slopes))) < 0.02  # its increments are white
    np.testing.assert_allclose(slopes.var(axis=0)[[99, 399 - 1]], [100, 399], rtol=0.3)  # its variance grows as t


def test_local_linear_trend_has_a_season_and_an_error():
    path = draws(local_linear_trend.draw, 200, season=12)
    assert (np.asarray(path.noisy - path.clean).std(axis=1) > 0.005).all()
    second = np.diff(np.asarray(path.clean, np.float64), n=2)
    seasonal = (second[:, 12:] * second[:, :-12]).mean(axis=1) / second.var(axis=1)
    assert 0.3 < (seasonal > 0.5).mean() < 0.8


def test_compound_growth_ends_at_one():
    np.testing.assert_allclose(
        growing.compound(jnp.log(jnp.array([1.0, 2.0, 0.5, 4.0]))), [0.25, 0.5, 0.25, 1.0], rtol=1e-6
    )


def test_most_growth_goes_up_at_a_rate_that_wanders():
    path = draws(growing.draw, 300, season=4)
    clean, noisy = np.asarray(path.clean, np.float64), np.asarray(path.noisy, np.float64)
    assert np.isfinite(noisy).all() and (noisy > 0).all()
    by_year = np.log(clean[:, 4:]) - np.log(clean[:, :-4])  # without the season
    assert 0.7 < (by_year[:, -200:].mean(axis=1) > 0).mean() < 0.9
    assert 0.01 < np.median(np.abs(by_year[:, -200:].mean(axis=1))) < 0.06  # a year, whatever its steps
    assert (by_year[:, -200:].std(axis=1) > 0.2 * np.abs(by_year[:, -200:].mean(axis=1))).mean() > 0.6


def test_two_state_chain_keeps_its_chances():
    numbers = jax.random.uniform(jax.random.key(2), (2, 200_000))
    chain = np.asarray(regimes.two_state_chain(numbers, 0.02, 0.06))
    leave_false = chain[1:][~chain[:-1]].mean()
    leave_true = (~chain[1:][chain[:-1]]).mean()
    np.testing.assert_allclose([leave_false, leave_true], [0.02, 0.06], rtol=0.1)


def test_mean_reversion_is_its_recursion():
    rng = np.random.default_rng(3)
    pull, mean, noise = rng.uniform(size=60), rng.normal(size=60), rng.normal(size=60)
    x, expected = mean[0], []
    for a, m, e in zip(pull, mean, noise):
        x = x + a * (m - x) + e
        expected.append(x)
    actual = quick_jit(regimes.mean_reversion)(*(jnp.array(v, jnp.float32) for v in (pull, mean, noise)))
    np.testing.assert_allclose(actual, expected, atol=1e-4)


def test_level_shifts_are_few_and_large():
    numbers = jax.random.uniform(jax.random.key(4), (100, 4)).at[:, 2].set(0.9)  # no line
    shifts = quick_jit(jax.vmap(regimes.level_shifts))(
        numbers, jax.random.uniform(jax.random.key(5), (100, 2, 400)), jnp.zeros((100, 400))
    )
    jumps = np.abs(np.diff(np.asarray(shifts.clean))) > 0
    assert jumps.any(axis=1).mean() > 0.8 and jumps.sum(axis=1).max() < 60
    assert np.abs(np.diff(np.asarray(shifts.clean)))[jumps].mean() > 0.8


@pytest.mark.parametrize(
    "mean, shape, law",
    [(4.0, counts.POISSON_SHAPE, stats.poisson(4.0)), (3.0, 0.8, stats.nbinom(0.8, 0.8 / 3.8))],
    ids=["poisson", "negative_binomial"],
)
def test_count_quantiles(mean, shape, law):
    chances = np.linspace(0.004, 0.991, 80)
    actual = quick_jit(counts.negative_binomial_quantile)(jnp.array(chances, jnp.float32), jnp.full(80, mean), shape)
    np.testing.assert_array_equal(actual, law.ppf(chances))


def test_counts_are_whole_not_negative_and_often_zero():
    path = draws(counts.draw, 300, season=7)
    noisy = np.asarray(path.noisy)
    assert (noisy >= 0).all() and (noisy == np.round(noisy)).all() and noisy.max() <= counts.MAX_COUNT
    zeros = (noisy == 0).mean(axis=1)
    assert zeros.max() > 0.8 and zeros.min() < 0.2 and 0.3 < zeros.mean() < 0.8
    assert (np.asarray(path.clean) > 0).all()
    # clean is what is expected, so the totals agree
    np.testing.assert_allclose(noisy.sum() / np.asarray(path.clean).sum(), 1.0, atol=0.05)
