"""Growth whose rate varies: incomes, populations and sales from year to year."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import innovations, log_uniform, normal
from fimjax.prior.family import Path
from fimjax.prior.processes import mean_reversion
from fimjax.prior.seasonal import repeat, seasonal_pattern

SHARE_GROWING = 0.9
"""Share of the series that grow; the others shrink."""
LOG_BOUNDS = (-20.0, 10.0)
"""Bounds of the logarithm of a value relative to the last one."""


def compound(rates_N: jax.Array) -> jax.Array:
    """Levels [N] that grow by these rates (differences of logarithms); the last level is one."""
    log_level_N = jnp.cumsum(rates_N)
    return jnp.exp((log_level_N - log_level_N[-1]).clip(*LOG_BOUNDS))


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Growth at a rate that reverts to its mean by 10 to 90 % a step.

    The mean rate is 0.5 to 15 % a season, and the rate deviates from it by 0.3 to 4 times the mean. A season is mostly
    a year, so a step of a longer season grows less, and its rate varies more relative to the mean. Errors are 0.02 to 2
    mean rates. Half of the seasonal series have a seasonal pattern of strength 0.02 to 0.5.
    """
    number_key, rate_key, error_key, pattern_key = random.split(key, 4)
    n = times_N.shape[0]
    rate_u, sign, reversion_u, variation, error_size, draws_season, season_size = random.uniform(number_key, (7,))
    length = season.astype(jnp.float32)
    mean_rate = log_uniform(rate_u, 0.005, 0.15) / length
    reversion = log_uniform(reversion_u, 0.1, 0.9)
    # A process that reverts by p a step with noise s has the standard deviation s / sqrt(1 - (1 - p)^2).
    rate_deviation = mean_rate * log_uniform(variation, 0.3, 4.0) * jnp.sqrt(length)
    rate_noise_N = rate_deviation * jnp.sqrt(1.0 - (1.0 - reversion) ** 2) * normal(random.uniform(rate_key, (n,)))
    rates_N = mean_reversion(jnp.full((n,), reversion), jnp.full((n,), mean_rate), rate_noise_N)
    level_N = compound(jnp.where(sign < SHARE_GROWING, rates_N, -rates_N))

    strength = log_uniform(season_size, 0.02, 0.5) * (draws_season < 0.5)
    season_N = jnp.exp((strength * repeat(seasonal_pattern(pattern_key, season), season, n)).clip(-2.0, 2.0))
    errors_N = mean_rate * jnp.sqrt(length) * log_uniform(error_size, 0.02, 2.0) * innovations(error_key, n)
    clean_N = level_N * season_N
    return Path(clean=clean_N, noisy=clean_N * jnp.exp(errors_N.clip(-1.0, 1.0)))
