"""Intermittent demand: counts with many zeros."""

import jax
import jax.numpy as jnp
from jax import lax, random

from fimjax.prior.distributions import log_uniform
from fimjax.prior.path import Path
from fimjax.prior.seasonal import repeat, seasonal_pattern
from fimjax.prior.waves import smooth_waves

MAX_COUNT = 100
POISSON_SHAPE = 1e5
"""A negative binomial of this shape is a Poisson distribution, to float32."""


def negative_binomial_quantile(chance: jax.Array, mean: jax.Array, shape: jax.Array) -> jax.Array:
    """Smallest count whose cumulative probability reaches `chance`, at most MAX_COUNT.

    p_0 = (1 + mean / shape)^-shape, p_(k+1) = p_k (k + shape) / (k + 1) q with q = mean / (mean + shape). One uniform
    number a count, which a rejection sampler would not do with.
    """

    def step(k, carry):
        probability, cumulative, count = carry
        cumulative = cumulative + probability
        count = count + (cumulative < chance)
        return probability * (k + shape) / (k + 1.0) * mean / (mean + shape), cumulative, count

    first = jnp.exp(-shape * jnp.log1p(mean / shape))
    start = (first, jnp.zeros_like(first), jnp.zeros_like(first))
    return lax.fori_loop(0, MAX_COUNT, step, start, unroll=4)[2]


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Poisson (half) or negative binomial sizes of mean 0.3 to 15, each sold with a chance of 0.1 to 1.

    The mean follows exp(season + slow wave), of strength 0.05 to 0.8 (in 60 %) and 0.05 to 0.8; shapes are 0.5 to 10.
    `clean` is the expected count.
    """
    number_key, wave_key, pattern_key, count_key = random.split(key, 4)
    n = times_N.shape[0]
    rate, is_seasonal, swing, slow_swing, stretch, is_spread, spread, rarity = random.uniform(number_key, (8,))
    strength = log_uniform(swing, 0.05, 0.8) * (is_seasonal < 0.6)
    season_N = strength * repeat(seasonal_pattern(pattern_key, season), season, n)
    slow_N = smooth_waves(wave_key, times_N, n * log_uniform(stretch, 0.05, 1.0), features=16)
    swing_N = season_N + log_uniform(slow_swing, 0.05, 0.8) * slow_N
    mean_N = log_uniform(rate, 0.3, 15.0) * jnp.exp(swing_N.clip(-2.0, 1.2))

    shape = jnp.where(is_spread < 0.5, log_uniform(spread, 0.5, 10.0), POISSON_SHAPE)
    chance = log_uniform(rarity, 0.1, 1.0)
    numbers_2N = random.uniform(count_key, (2, n))
    sizes_N = negative_binomial_quantile(numbers_2N[0], mean_N, shape)
    return Path(clean=chance * mean_N, noisy=jnp.where(numbers_2N[1] < chance, sizes_N, 0.0))
