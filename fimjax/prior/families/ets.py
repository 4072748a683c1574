"""Exponential smoothing: error A or M, trend N, A, Ad, M or Md, season N, A or M (Hyndman et al. 2008, chapter 2).

All thirty forms are one recursion in error-correction form. The one-step mean is mu = (l + phi b) + s and the error is
e = eps, or e = mu eps if it is multiplicative. The additive form is

    l' = (l + phi b) + alpha e
    b' = phi b + beta e
    s' = s + gamma e

A multiplicative trend has l b^phi in place of l + phi b, b^phi in place of phi b, and e / l in the second line. A
multiplicative season has (l + phi b) s in mu, e / s in the first two lines, and e / (l + phi b) in the third.

Forms with an additive error and a multiplicative part, and MMA and MMdA, are known to be unstable: they divide by
states that may reach zero. They are bounded rather than left out. Wherever a part is multiplicative, the level stays
within LEVEL_BOUNDS and its slope changes sign there, and factors stay within their own bounds.
"""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random

from fimjax.config import MAX_SEASON
from fimjax.prior.distributions import (
    beta_half_three,
    innovations,
    log_uniform,
    sign_biased_normal,
    uniform,
    uniform_numbers,
)
from fimjax.prior.family import Path
from fimjax.prior.seasonal import seasonal_pattern
from fimjax.prior.timescale import share_rising, trend_scale

LEVEL_BOUNDS = (0.1, 1_000.0)
GROWTH_BOUNDS = (0.8, 1.25)
SEASON_BOUNDS = (0.1, 10.0)
RELATIVE_ERROR_BOUND = 0.8
TREND_SHARES = {"N": 0.2, "A": 0.25, "Ad": 0.3, "M": 0.1, "Md": 0.15}
SEASON_SHARES = {"N": 0.25, "A": 0.45, "M": 0.3}
MULTIPLICATIVE_ERROR_SHARE = 1 / 3


class Parameters(NamedTuple):
    """One exponential smoothing model; `slope` is b, a difference or a growth factor, and `pattern` the first season.

    A model without trend has a neutral slope (0, or 1 if multiplicative) and beta = 0; one without season likewise.
    """

    error_is_multiplicative: jax.Array
    trend_is_multiplicative: jax.Array
    season_is_multiplicative: jax.Array
    alpha: jax.Array
    beta: jax.Array
    gamma: jax.Array
    phi: jax.Array
    level: jax.Array
    slope: jax.Array
    pattern: jax.Array  # [MAX_SEASON], the first `season` entries are read


def _choose(u: jax.Array, shares: dict[str, float]) -> jax.Array:
    """Index of one of the forms, drawn by their shares."""
    ends = jnp.array(list(itertools.accumulate(shares.values())))
    return jnp.sum(u >= ends).clip(max=len(shares) - 1)


def draw_parameters(key: jax.Array, season: jax.Array) -> Parameters:
    """A form and its parameters at random.

    alpha ~ Beta(1, 1.5); beta / alpha and 2 gamma / (1 - alpha) ~ Beta(0.5, 3) in 60 %, else 0; phi ~ U(0.8, 1) where
    damped; slope N(0, 1) times 0.002 to 0.2 (multiplicative: to 0.05) in 75 %; season of strength 0.05 to 2, or 0.05 to
    0.6 in the forms that have a multiplicative part. Slope and beta are those of years; shorter steps have less.
    """
    number_key, pattern_key = random.split(key)
    form_numbers, smoothing_numbers, beta_numbers, gamma_numbers, state_numbers = uniform_numbers(
        number_key, (3,), (4,), (4,), (4,), (5,)
    )
    error_form, trend_form, season_form = form_numbers
    error_is_multiplicative = error_form < MULTIPLICATIVE_ERROR_SHARE
    trend = _choose(trend_form, TREND_SHARES)
    has_trend, trend_is_multiplicative, is_damped = trend > 0, trend >= 3, (trend == 2) | (trend == 4)
    form = _choose(season_form, SEASON_SHARES)
    has_season = (form > 0) & (season > 1)
    season_is_multiplicative = has_season & (form == 2)

    draws_beta, draws_gamma, alpha_u, damping = smoothing_numbers
    alpha = 1.0 - alpha_u ** (1 / 1.5)  # Beta(1, b) by its inverse
    scale = trend_scale(season)
    beta = alpha * scale * beta_half_three(beta_numbers) * ((draws_beta < 0.6) & has_trend)
    gamma = 0.5 * (1.0 - alpha) * beta_half_three(gamma_numbers) * ((draws_gamma < 0.6) & has_season)
    phi = jnp.where(is_damped, uniform(damping, 0.8, 1.0), 1.0)

    level_u, slope_u, slope_size, draws_slope, season_size = state_numbers
    is_bounded = error_is_multiplicative | trend_is_multiplicative | season_is_multiplicative
    level = jnp.where(is_bounded, log_uniform(level_u, 1.0, 10.0), 0.0)
    max_slope = jnp.where(trend_is_multiplicative, 0.05, 0.2)
    slope = sign_biased_normal(slope_u, share_rising(season)) * scale * log_uniform(slope_size, 0.002, max_slope)
    slope = slope * ((draws_slope < 0.75) & has_trend)
    slope = jnp.where(trend_is_multiplicative, jnp.exp(slope), slope)
    strength = log_uniform(season_size, 0.05, jnp.where(is_bounded, 0.6, 2.0))
    pattern = strength * seasonal_pattern(pattern_key, season) * has_season
    pattern = jnp.where(season_is_multiplicative, jnp.exp(pattern).clip(*SEASON_BOUNDS), pattern)
    return Parameters(
        error_is_multiplicative,
        trend_is_multiplicative,
        season_is_multiplicative,
        alpha,
        beta,
        gamma,
        phi,
        level,
        slope,
        pattern,
    )


def draw_errors(key: jax.Array, n: int, is_multiplicative: jax.Array) -> jax.Array:
    """eps [n] with a deviation of 0.01 to 0.5, or 0.01 to 0.15 if multiplicative; heavy-tailed in 30 %."""
    scale_key, error_key = random.split(key)
    u = random.uniform(scale_key)
    absolute, relative = log_uniform(u, 0.01, 0.5), log_uniform(u, 0.01, 0.15)
    unit = innovations(error_key, n)
    bounded = (relative * unit).clip(-RELATIVE_ERROR_BOUND, RELATIVE_ERROR_BOUND)
    return jnp.where(is_multiplicative, bounded, absolute * unit)


def simulate(p: Parameters, errors_N: jax.Array, season: jax.Array) -> Path:
    """The series of one model and its errors: `clean` is the one-step mean, `noisy` has the step's error added.

    Seasonal states are appended to one array and read `season` places back. All series of a batch then write to the
    same place; a ring buffer would need a scatter for each.
    """
    n = errors_N.shape[0]
    is_bounded = p.error_is_multiplicative | p.trend_is_multiplicative | p.season_is_multiplicative
    lowest, highest = (jnp.where(is_bounded, bound, end) for bound, end in zip(LEVEL_BOUNDS, (-jnp.inf, jnp.inf)))

    def step(
        carry: tuple[jax.Array, jax.Array, jax.Array], inputs: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, jax.Array, jax.Array], jax.Array]:
        level, slope, states = carry
        t, eps = inputs
        factor = states[t + MAX_SEASON - season]
        growth = jnp.where(p.trend_is_multiplicative, slope, 1.0) ** p.phi
        damped = jnp.where(p.trend_is_multiplicative, growth, p.phi * slope)
        grown = jnp.where(p.trend_is_multiplicative, level * growth, level + damped).clip(lowest, highest)
        mean = jnp.where(p.season_is_multiplicative, grown * factor, grown + factor)

        error = jnp.where(p.error_is_multiplicative, mean * eps, eps)
        level_error = error / jnp.where(p.season_is_multiplicative, factor, 1.0)
        new_level = grown + p.alpha * level_error
        new_slope = damped + p.beta * level_error / jnp.where(p.trend_is_multiplicative, level, 1.0)
        new_factor = factor + p.gamma * error / jnp.where(p.season_is_multiplicative, grown, 1.0)

        new_slope = jnp.where(p.trend_is_multiplicative, new_slope.clip(*GROWTH_BOUNDS), new_slope)
        opposite = jnp.where(p.trend_is_multiplicative, 1.0 / new_slope, -new_slope)
        new_slope = jnp.where(new_level <= lowest, jnp.maximum(new_slope, opposite), new_slope)
        new_slope = jnp.where(new_level >= highest, jnp.minimum(new_slope, opposite), new_slope)
        new_factor = jnp.where(p.season_is_multiplicative, new_factor.clip(*SEASON_BOUNDS), new_factor)
        states = lax.dynamic_update_index_in_dim(states, new_factor, t + MAX_SEASON, 0)
        return (new_level.clip(lowest, highest), new_slope, states), mean

    first = p.pattern[(jnp.arange(MAX_SEASON) - MAX_SEASON) % season]
    states = jnp.concatenate([first, jnp.zeros(n)])
    _, mean_N = lax.scan(step, (p.level, p.slope, states), (jnp.arange(n), errors_N), unroll=4)
    return Path(clean=mean_N, noisy=mean_N + jnp.where(p.error_is_multiplicative, mean_N * errors_N, errors_N))


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """A random one of the thirty models and a path of it."""
    parameter_key, error_key = random.split(key)
    parameters = draw_parameters(parameter_key, season)
    errors_N = draw_errors(error_key, times_N.shape[0], parameters.error_is_multiplicative)
    return simulate(parameters, errors_N, season)
