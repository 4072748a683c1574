"""Intermittent demand: counts with many zeros."""

import jax
import jax.numpy as jnp
from jax import lax, random

from fimjax.prior.distributions import log_uniform
from fimjax.prior.family import Path
from fimjax.prior.seasonal import repeat, seasonal_pattern
from fimjax.prior.spectral import squared_exponential_process

MAX_COUNT = 100
POISSON_SHAPE = 1e5
"""A negative binomial of this shape is a Poisson distribution, to the precision of float32."""


def negative_binomial_quantile(level: jax.Array, mean: jax.Array, shape: float | jax.Array) -> jax.Array:
    """Smallest count whose cumulative probability reaches `level`, at most MAX_COUNT.

    p_0 = (1 + mean / shape)^-shape, p_(k+1) = p_k (k + shape) / (k + 1) q with q = mean / (mean + shape). This
    takes one uniform number for each count, unlike a rejection sampler.
    """

    def step(k: jax.Array, carry: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        probability, cumulative, count = carry
        cumulative = cumulative + probability
        count = count + (cumulative < level)
        return probability * (k + shape) / (k + 1.0) * mean / (mean + shape), cumulative, count

    first = jnp.exp(-shape * jnp.log1p(mean / shape))
    start = (first, jnp.zeros_like(first), jnp.zeros_like(first))
    return lax.fori_loop(0, MAX_COUNT, step, start, unroll=4)[2]


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Poisson (half) or negative binomial sizes of mean 0.3 to 15; a step has demand with probability 0.1 to 1.

    The mean follows exp(season + slow process). The season (in 60 %) and the slow process have a strength of 0.05 to
    0.8. Negative binomial shapes are 0.5 to 10. `clean` is the expected count.
    """
    number_key, slow_key, pattern_key, count_key = random.split(key, 4)
    n = times_N.shape[0]
    (rate, draws_season, season_size, slow_size, length_scale, draws_dispersion, dispersion, demand) = random.uniform(
        number_key, (8,)
    )
    strength = log_uniform(season_size, 0.05, 0.8) * (draws_season < 0.6)
    season_N = strength * repeat(seasonal_pattern(pattern_key, season), season, n)
    slow_N = squared_exponential_process(slow_key, times_N, n * log_uniform(length_scale, 0.05, 1.0), features=16)
    log_mean_N = season_N + log_uniform(slow_size, 0.05, 0.8) * slow_N
    mean_N = log_uniform(rate, 0.3, 15.0) * jnp.exp(log_mean_N.clip(-2.0, 1.2))

    shape = jnp.where(draws_dispersion < 0.5, log_uniform(dispersion, 0.5, 10.0), POISSON_SHAPE)
    demand_probability = log_uniform(demand, 0.1, 1.0)
    size_u_N, demand_u_N = random.uniform(count_key, (2, n))
    sizes_N = negative_binomial_quantile(size_u_N, mean_N, shape)
    has_demand_N = demand_u_N < demand_probability
    return Path(clean=demand_probability * mean_N, noisy=jnp.where(has_demand_N, sizes_N, 0.0))
