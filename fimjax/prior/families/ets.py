"""Exponential smoothing: error A or M, trend N, A, Ad, M or Md, season N, A or M (Hyndman et al. 2008, chapter 2).

All thirty forms are one recursion in error-correction form. With the one-step mean mu = (l + phi b) + s, where a
multiplicative trend reads l b^phi and a multiplicative season (l + phi b) s, and the error e = eps or mu eps:

    l' = (l + phi b) + alpha e / s        e / s  only for a multiplicative season, else e
    b' = phi b + beta e / s               over l also for a multiplicative trend, whose phi b reads b^phi
    s' = s + gamma e                      over (l + phi b) for a multiplicative season

Forms with an additive error and a multiplicative part, and MMA and MMdA, are known to be unstable: they divide by
states that may reach zero. They are bounded rather than left out: wherever a part is multiplicative the level lives
between LEVEL_BOUNDS and its slope turns round there, and factors live between their own bounds.
"""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random

from fimjax.config import MAX_SEASON
from fimjax.prior.distributions import beta_half_three, innovations, leaning_normal, log_uniform, uniform
from fimjax.prior.path import Path
from fimjax.prior.seasonal import seasonal_pattern
from fimjax.prior.timescale import trend_scale, upward

LEVEL_BOUNDS = (0.1, 1_000.0)
GROWTH_BOUNDS = (0.8, 1.25)
SEASON_BOUNDS = (0.1, 10.0)
RELATIVE_ERROR_BOUND = 0.8
TREND_SHARES = {"N": 0.2, "A": 0.25, "Ad": 0.3, "M": 0.1, "Md": 0.15}
SEASON_SHARES = {"N": 0.25, "A": 0.45, "M": 0.3}
MULTIPLICATIVE_ERROR_SHARE = 1 / 3


class Parameters(NamedTuple):
    """One exponential smoothing model; `slope` is b, a difference or a growth factor, and `pattern` the first season.

    No trend is a slope that leaves the level as it is (0, or 1 if multiplicative) and beta = 0; no season likewise.
    """

    error_is_relative: jax.Array
    trend_is_relative: jax.Array
    season_is_relative: jax.Array
    alpha: jax.Array
    beta: jax.Array
    gamma: jax.Array
    phi: jax.Array
    level: jax.Array
    slope: jax.Array
    pattern: jax.Array  # [MAX_SEASON], the first `season` entries are read


def _choose(u: jax.Array, shares: dict[str, float]) -> jax.Array:
    """Index of the form that a uniform number falls on."""
    return sum(u >= end for end in itertools.accumulate(shares.values())).clip(max=len(shares) - 1)


def draw_parameters(key: jax.Array, season: jax.Array) -> Parameters:
    """A form and its parameters at random.

    alpha ~ Beta(1, 1.5); beta / alpha and 2 gamma / (1 - alpha) ~ Beta(0.5, 3) in 60 %, else 0; phi ~ U(0.8, 1) where
    damped; slope N(0, 1) times 0.002 to 0.2 (growth: to 0.05) in 75 %; season of strength 0.05 to 2, or 0.05 to 0.6
    in the forms that have a multiplicative part. Slope and beta are those of years; shorter steps have less.
    """
    number_key, pattern_key = random.split(key)
    numbers = random.uniform(number_key, (20,))
    error_number, trend_number, season_number = numbers[:3]
    error_is_relative = error_number < MULTIPLICATIVE_ERROR_SHARE
    trend = _choose(trend_number, TREND_SHARES)
    has_trend, trend_is_relative, is_damped = trend > 0, trend >= 3, (trend == 2) | (trend == 4)
    form = _choose(season_number, SEASON_SHARES)
    has_season = (form > 0) & (season > 1)
    season_is_relative = has_season & (form == 2)

    uses_beta, uses_gamma, alpha_number, damping = numbers[3:7]
    alpha = 1.0 - alpha_number ** (1 / 1.5)  # Beta(1, b) by its inverse
    pull = trend_scale(season)
    beta = alpha * pull * beta_half_three(numbers[7:11]) * ((uses_beta < 0.6) & has_trend)
    gamma = 0.5 * (1.0 - alpha) * beta_half_three(numbers[11:15]) * ((uses_gamma < 0.6) & has_season)
    phi = jnp.where(is_damped, uniform(damping, 0.8, 1.0), 1.0)

    start, size, scale, uses_slope, swing = numbers[15:]
    is_bounded = error_is_relative | trend_is_relative | season_is_relative
    level = jnp.where(is_bounded, log_uniform(start, 1.0, 10.0), 0.0)
    steepness = jnp.where(trend_is_relative, log_uniform(scale, 0.002, 0.05), log_uniform(scale, 0.002, 0.2))
    slope = leaning_normal(size, upward(season)) * pull * steepness * ((uses_slope < 0.75) & has_trend)
    slope = jnp.where(trend_is_relative, jnp.exp(slope), slope)
    strength = jnp.where(is_bounded, log_uniform(swing, 0.05, 0.6), log_uniform(swing, 0.05, 2.0))
    pattern = strength * seasonal_pattern(pattern_key, season) * has_season
    pattern = jnp.where(season_is_relative, jnp.exp(pattern).clip(*SEASON_BOUNDS), pattern)
    return Parameters(
        error_is_relative, trend_is_relative, season_is_relative, alpha, beta, gamma, phi, level, slope, pattern
    )


def draw_errors(key: jax.Array, n: int, is_relative: jax.Array) -> jax.Array:
    """eps [n]: deviation 0.01 to 0.5, or 0.01 to 0.15 if relative; heavy-tailed in 30 %."""
    scale_key, error_key = random.split(key)
    u = random.uniform(scale_key)
    absolute, relative = log_uniform(u, 0.01, 0.5), log_uniform(u, 0.01, 0.15)
    unit = innovations(error_key, n)
    bounded = (relative * unit).clip(-RELATIVE_ERROR_BOUND, RELATIVE_ERROR_BOUND)
    return jnp.where(is_relative, bounded, absolute * unit)


def simulate(p: Parameters, errors_N: jax.Array, season: jax.Array) -> Path:
    """The series of one model and its errors: clean is the one-step mean, noisy has the step's error added.

    Seasonal states are written one after the other and read `season` places back, which all series of a batch do at
    the same place: a ring buffer would need a scatter for each.
    """
    n = errors_N.shape[0]
    is_bounded = p.error_is_relative | p.trend_is_relative | p.season_is_relative
    lowest, highest = (jnp.where(is_bounded, bound, end) for bound, end in zip(LEVEL_BOUNDS, (-jnp.inf, jnp.inf)))

    def step(carry, inputs):
        level, slope, states = carry
        t, eps = inputs
        factor = states[t + MAX_SEASON - season]
        growth = jnp.where(p.trend_is_relative, slope, 1.0) ** p.phi
        damped = jnp.where(p.trend_is_relative, growth, p.phi * slope)
        grown = jnp.where(p.trend_is_relative, level * growth, level + damped).clip(lowest, highest)
        mean = jnp.where(p.season_is_relative, grown * factor, grown + factor)

        error = jnp.where(p.error_is_relative, mean * eps, eps)
        level_error = error / jnp.where(p.season_is_relative, factor, 1.0)
        new_level = grown + p.alpha * level_error
        new_slope = damped + p.beta * level_error / jnp.where(p.trend_is_relative, level, 1.0)
        new_factor = factor + p.gamma * error / jnp.where(p.season_is_relative, grown, 1.0)

        new_slope = jnp.where(p.trend_is_relative, new_slope.clip(*GROWTH_BOUNDS), new_slope)
        opposite = jnp.where(p.trend_is_relative, 1.0 / new_slope, -new_slope)
        new_slope = jnp.where(new_level <= lowest, jnp.maximum(new_slope, opposite), new_slope)
        new_slope = jnp.where(new_level >= highest, jnp.minimum(new_slope, opposite), new_slope)
        new_factor = jnp.where(p.season_is_relative, new_factor.clip(*SEASON_BOUNDS), new_factor)
        states = lax.dynamic_update_index_in_dim(states, new_factor, t + MAX_SEASON, 0)
        return (new_level.clip(lowest, highest), new_slope, states), mean

    first = p.pattern[(jnp.arange(MAX_SEASON) - MAX_SEASON) % season]
    states = jnp.concatenate([first, jnp.zeros(n)])
    _, mean_N = lax.scan(step, (p.level, p.slope, states), (jnp.arange(n), errors_N), unroll=4)
    return Path(clean=mean_N, noisy=mean_N + jnp.where(p.error_is_relative, mean_N * errors_N, errors_N))


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """A random model of the thirty and a path of it."""
    parameter_key, error_key = random.split(key)
    parameters = draw_parameters(parameter_key, season)
    errors_N = draw_errors(error_key, times_N.shape[0], parameters.error_is_relative)
    return simulate(parameters, errors_N, season)
