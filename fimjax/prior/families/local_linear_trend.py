"""Local linear trend with a fixed season: Harvey's basic structural model."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import innovations, log_uniform, sign_biased_normal
from fimjax.prior.family import Path
from fimjax.prior.processes import mean_reversion
from fimjax.prior.seasonal import repeat, seasonal_pattern
from fimjax.prior.timescale import share_rising, trend_scale


class Trend(NamedTuple):
    """A level and the slope that leads to its next value."""

    level: jax.Array  # [N]
    slope: jax.Array  # [N]


def simulate(
    level_noise_N: jax.Array,
    slope_noise_N: jax.Array,
    mean_slope: float | jax.Array,
    reversion: float | jax.Array = 0.0,
) -> Trend:
    """l' = l + b + eta, b' = b + reversion (mean_slope - b) + zeta, from l = 0 and b = mean_slope."""
    n = slope_noise_N.shape[0]
    slope_N = mean_reversion(jnp.broadcast_to(reversion, (n,)), jnp.broadcast_to(mean_slope, (n,)), slope_noise_N)
    increments_N = level_noise_N + slope_N
    level_N = jnp.cumsum(increments_N) - increments_N
    return Trend(level_N, slope_N)


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """A level and a slope that are both random walks, plus a season and errors.

    Standard deviations are log-uniform: level 0.01 to 0.5, slope 0.0005 to 0.2, errors 0.01 to 1 (heavy-tailed in
    30 %). The first slope is N(0, 1) times 0.002 to 0.1. In 60 % of the series the slope reverts to it, by 3 to 50 % a
    step. The ranges of slopes are those of years; shorter steps have less. 70 % of the series have a season of strength
    0.1 to 4.
    """
    number_key, noise_key, pattern_key, error_key = random.split(key, 4)
    n = times_N.shape[0]
    level_size, slope_size, slope_u, first_slope_size, draws_season, season_size, error_size, draws_reversion, speed = (
        random.uniform(number_key, (9,))
    )
    level_noise_N, slope_noise_N = random.normal(noise_key, (2, n))
    scale = trend_scale(season)
    trend = simulate(
        log_uniform(level_size, 0.01, 0.5) * level_noise_N,
        scale**2 * log_uniform(slope_size, 0.0005, 0.2) * slope_noise_N,
        scale * log_uniform(first_slope_size, 0.002, 0.1) * sign_biased_normal(slope_u, share_rising(season)),
        log_uniform(speed, 0.03, 0.5) * (draws_reversion < 0.6),
    )
    strength = log_uniform(season_size, 0.1, 4.0) * (draws_season < 0.7)
    clean_N = trend.level + strength * repeat(seasonal_pattern(pattern_key, season), season, n)
    return Path(clean=clean_N, noisy=clean_N + log_uniform(error_size, 0.01, 1.0) * innovations(error_key, n))
