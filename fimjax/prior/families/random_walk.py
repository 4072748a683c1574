"""Random walk with drift."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import innovations, log_uniform, sign_biased_normal
from fimjax.prior.family import Path, noise_free
from fimjax.prior.timescale import share_rising, trend_scale


def walk(increments_N: jax.Array, drift: jax.Array) -> jax.Array:
    """x_t = x_(t-1) + drift + increment."""
    return jnp.cumsum(increments_N + drift)


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Unit increments, heavy-tailed in 40 %; in 30 % a drift of N(0, 1) times 0.02 to 1 increments a step."""
    drift_key, increment_key = random.split(key)
    draws_drift, drift_u, scale = random.uniform(drift_key, (3,))
    drift = trend_scale(season) * sign_biased_normal(drift_u, share_rising(season)) * log_uniform(scale, 0.02, 1.0)
    drift = drift * (draws_drift < 0.3)
    return noise_free(walk(innovations(increment_key, times_N.shape[0], heavy_share=0.4), drift))
