"""Growth whose rate wanders: what incomes, populations and sales do from year to year."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import innovations, log_uniform, normal
from fimjax.prior.families.regimes import mean_reversion
from fimjax.prior.path import Path
from fimjax.prior.seasonal import repeat, seasonal_pattern

GROWING = 0.9
"""Share of the series that grow; the others shrink."""
LOGARITHMS = (-20.0, 10.0)
"""Bounds of a value's logarithm, the last one's being zero."""


def compound(rates_N: jax.Array) -> jax.Array:
    """Levels [N] that grow by these rates (differences of logarithms), the last level being one."""
    logarithms_N = jnp.cumsum(rates_N)
    return jnp.exp((logarithms_N - logarithms_N[-1]).clip(*LOGARITHMS))


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """A mean rate of 0.5 to 15 % a season, from which the rate deviates by 0.3 to 4 times it, reverting by 10 to 90 % a
    step.

    A season is a year more often than not, and growth is a matter of years: a step of a longer season grows less, and
    its rate is the more restless for it. Errors of 0.02 to 2 mean rates are on top, and in half of the series that have
    one a season of strength 0.02 to 0.5.
    """
    number_key, rate_key, error_key, pattern_key = random.split(key, 4)
    n = times_N.shape[0]
    size, sign, pull, restless, roughness, is_seasonal, swing = random.uniform(number_key, (7,))
    length = season.astype(jnp.float32)
    mean = log_uniform(size, 0.005, 0.15) / length
    pull = log_uniform(pull, 0.1, 0.9)
    # A process that reverts by p a step with noise s has the deviation s / sqrt(1 - (1 - p)^2).
    deviation = mean * log_uniform(restless, 0.3, 4.0) * jnp.sqrt(length)
    noise = deviation * jnp.sqrt(1.0 - (1.0 - pull) ** 2)
    rates_N = mean_reversion(jnp.full((n,), pull), jnp.full((n,), mean), noise * normal(random.uniform(rate_key, (n,))))
    level_N = compound(jnp.where(sign < GROWING, rates_N, -rates_N))
    strength = log_uniform(swing, 0.02, 0.5) * (is_seasonal < 0.5)
    season_N = jnp.exp((strength * repeat(seasonal_pattern(pattern_key, season), season, n)).clip(-2.0, 2.0))
    errors_N = mean * jnp.sqrt(length) * log_uniform(roughness, 0.02, 2.0) * innovations(error_key, n)
    clean_N = level_N * season_N
    return Path(clean=clean_N, noisy=clean_N * jnp.exp(errors_N.clip(-1.0, 1.0)))
