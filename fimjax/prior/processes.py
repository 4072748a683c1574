"""Building blocks of random processes that several families and effects share."""

import jax
import jax.numpy as jnp
from jax import lax


def latest_event(is_event_N: jax.Array) -> jax.Array:
    """Index [N] of the latest event at or before each step, 0 before the first event."""
    return lax.cummax(jnp.where(is_event_N, jnp.arange(is_event_N.shape[0]), 0))


def mean_reversion(reversion_N: jax.Array, mean_N: jax.Array, noise_N: jax.Array) -> jax.Array:
    """x_t = x_(t-1) + reversion_t (mean_t - x_(t-1)) + noise_t, starting at the first mean."""

    def step(x: jax.Array, inputs: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reversion, mean, noise = inputs
        x = x + reversion * (mean - x) + noise
        return x, x

    return lax.scan(step, mean_N[0], (reversion_N, mean_N, noise_N), unroll=8)[1]
