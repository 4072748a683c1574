"""Exponential smoothing against a recursion written from the book's tables."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import MAX_SEASON
from fimjax.prior.families import ets
from tests.prior.quick import quick_jit

N = 90
SEASON = 4
simulate = quick_jit(ets.simulate)


def parameters(**changes):
    """ETS(A, A, A) unless changed."""
    pattern = np.zeros(MAX_SEASON, np.float32)
    pattern[:SEASON] = changes.pop("pattern", (1.0, -2.0, 0.5, 0.5))
    values = dict(
        error_is_multiplicative=False,
        trend_is_multiplicative=False,
        season_is_multiplicative=False,
        alpha=0.3,
        beta=0.1,
        gamma=0.2,
        phi=1.0,
        level=5.0,
        slope=0.1,
        pattern=pattern,
    )
    return jax.tree.map(jnp.asarray, ets.Parameters(**{**values, **changes}))


def by_the_book(error, trend, season, alpha, beta, gamma, phi, level, slope, pattern, errors):
    """Tables 2.2 (additive errors) and 2.3 (multiplicative errors) of Hyndman et al. (2008), in float64."""
    l, b, s = float(level), float(slope), [float(x) for x in pattern[:SEASON]]
    series = []
    for t, e in enumerate(np.asarray(errors, float)):
        old = s[t % SEASON]
        damped = phi * b if trend == "A" else b**phi
        q = l + damped if trend == "A" else l * damped
        mean = q + old if season == "A" else q * old
        r = mean * e if error == "M" else e
        series.append(mean + r)
        l_new = q + alpha * (r if season == "A" else r / old)
        r_slope = (r if season == "A" else r / old) / (1 if trend == "A" else l)
        b = damped + beta * r_slope
        s[t % SEASON] = old + gamma * (r if season == "A" else r / q)
        l = l_new
    return np.array(series)


@pytest.mark.parametrize("error, trend, season, phi", list(itertools.product("AM", "AM", "AM", (1.0, 0.9))))
def test_every_form_is_the_books(error, trend, season, phi):
    pattern = (1.0, -2.0, 0.5, 0.5) if season == "A" else (1.2, 0.7, 1.1, 1.0)
    numbers = dict(alpha=0.3, beta=0.05, gamma=0.2, phi=phi, level=20.0, slope=0.1 if trend == "A" else 1.01)
    scale = 0.02 if error == "M" else 0.3
    errors = scale * np.random.default_rng(1).normal(size=N).astype(np.float32)
    expected = by_the_book(error, trend, season, **numbers, pattern=pattern, errors=errors)
    forms = dict(
        error_is_multiplicative=error == "M",
        trend_is_multiplicative=trend == "M",
        season_is_multiplicative=season == "M",
    )
    path = simulate(parameters(**forms, **numbers, pattern=pattern), errors, SEASON)
    np.testing.assert_allclose(path.noisy, expected, rtol=2e-3)


def test_clean_lacks_just_the_step_error():
    errors = 0.3 * jax.random.normal(jax.random.key(0), (N,))
    path = simulate(parameters(), errors, SEASON)
    np.testing.assert_allclose(path.noisy - path.clean, errors, atol=1e-5)


def test_damped_trend_flattens_and_plain_trend_goes_on():
    still = jnp.zeros(N)
    plain = simulate(parameters(pattern=(0, 0, 0, 0), slope=1.0), still, SEASON).clean
    damped = simulate(parameters(pattern=(0, 0, 0, 0), slope=1.0, phi=0.8), still, SEASON).clean
    np.testing.assert_allclose(np.diff(plain), 1.0, atol=1e-4)
    assert np.diff(damped)[0] > 0.5 and np.abs(np.diff(damped)[-10:]).max() < 1e-4


@pytest.mark.parametrize("season", [3, 12, MAX_SEASON])
def test_without_gamma_the_season_repeats_exactly_and_with_it_drifts(season):
    pattern = jax.random.normal(jax.random.key(2), (MAX_SEASON,))
    errors = jax.random.normal(jax.random.key(3), (3 * season,))
    fixed = parameters(alpha=0.0, beta=0.0, gamma=0.0, slope=0.0)._replace(pattern=pattern)
    clean = simulate(fixed, errors, season).clean
    np.testing.assert_array_equal(clean[season:], clean[:-season])
    drifting = simulate(fixed._replace(gamma=jnp.float32(0.3)), errors, season).clean
    assert np.abs(np.asarray(drifting[season:] - drifting[:-season])).max() > 0.1


def test_multiplicative_forms_stay_within_their_bounds():
    flat = (1.0, 1.0, 1.0, 1.0)
    growing = dict(trend_is_multiplicative=True, season_is_multiplicative=True, slope=1.2, beta=0.0, pattern=flat)
    path = simulate(parameters(**growing), jnp.zeros(N), SEASON)
    assert path.clean.max() <= ets.LEVEL_BOUNDS[1] and path.clean.min() >= ets.LEVEL_BOUNDS[0]
    assert (np.diff(path.clean) < 0).any()  # it turned at the ceiling


def test_all_thirty_forms_occur():
    p = quick_jit(jax.vmap(ets.draw_parameters))(jax.random.split(jax.random.key(5), 4_000), jnp.full(4_000, 12))
    neutral_slope = np.asarray(p.slope == jnp.where(p.trend_is_multiplicative, 1.0, 0.0))
    trend = np.where(neutral_slope & np.asarray(p.beta == 0), "N", np.where(p.trend_is_multiplicative, "M", "A"))
    trend = np.char.add(trend, np.where((np.asarray(p.phi) < 1) & (trend != "N"), "d", ""))
    flat = np.asarray(p.pattern.std(axis=1) == 0)
    season = np.where(flat, "N", np.where(p.season_is_multiplicative, "M", "A"))
    error = np.where(p.error_is_multiplicative, "M", "A")
    assert len(set(zip(error, trend, season))) == 2 * 5 * 3
    assert 0.3 < np.mean(p.alpha) < 0.5 and 0.01 < np.mean(p.gamma) < 0.04  # Beta(1, 1.5); a share of Beta(0.5, 3) / 2
