"""Local linear trend with a fixed season: Harvey's basic structural model."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import innovations, leaning_normal, log_uniform
from fimjax.prior.families.regimes import mean_reversion
from fimjax.prior.path import Path
from fimjax.prior.seasonal import repeat, seasonal_pattern
from fimjax.prior.timescale import trend_scale, upward


class Trend(NamedTuple):
    """A level and the slope that leads to its next value."""

    level: jax.Array  # [N]
    slope: jax.Array  # [N]


def wander(
    level_noise_N: jax.Array, slope_noise_N: jax.Array, slope: jax.Array, pull: float | jax.Array = 0.0
) -> Trend:
    """l' = l + b + eta, b' = b + pull (slope - b) + zeta, from a level of 0 and the slope that b returns to."""
    n = slope_noise_N.shape[0]
    slope_N = mean_reversion(jnp.broadcast_to(pull, (n,)), jnp.broadcast_to(slope, (n,)), slope_noise_N)
    rises_N = level_noise_N + slope_N
    level_N = jnp.cumsum(rises_N) - rises_N
    return Trend(level_N, slope_N)


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Deviations, all log-uniform: level 0.01 to 0.5, slope 0.0005 to 0.2, error 0.01 to 1 (heavy-tailed in 30 %).

    Initial slope N(0, 1) times 0.002 to 0.1; season of strength 0.1 to 4 in 70 % of the series that have one.
    Slopes are those of years; shorter steps have less, which wander less. In 60 % they return to where they began, by 3
    to 50 % a step.
    """
    number_key, noise_key, pattern_key, error_key = random.split(key, 4)
    n = times_N.shape[0]
    restless, bending, size, scale, is_seasonal, swing, roughness, returns, damping = random.uniform(number_key, (9,))
    noise_2N, pull = random.normal(noise_key, (2, n)), trend_scale(season)
    trend = wander(
        log_uniform(restless, 0.01, 0.5) * noise_2N[0],
        pull**2 * log_uniform(bending, 0.0005, 0.2) * noise_2N[1],
        pull * log_uniform(scale, 0.002, 0.1) * leaning_normal(size, upward(season)),
        log_uniform(damping, 0.03, 0.5) * (returns < 0.6),
    )
    strength = log_uniform(swing, 0.1, 4.0) * (is_seasonal < 0.7)
    clean_N = trend.level + strength * repeat(seasonal_pattern(pattern_key, season), season, n)
    return Path(clean=clean_N, noisy=clean_N + log_uniform(roughness, 0.01, 1.0) * innovations(error_key, n))
