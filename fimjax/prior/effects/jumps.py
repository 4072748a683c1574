"""Levels that jump and stay: a border moves, a price is regulated, a count is made another way.

What follows a jump is no trend. Where all that is learned from moves by errors and slopes alone, a jump looks like a
slope, and goes on.
"""

import jax
import jax.numpy as jnp

from fimjax.prior.distributions import log_uniform, normal


def jumping_level(numbers: jax.Array, numbers_2N: jax.Array) -> jax.Array:
    """Level [N] that jumps every 8 to 150 steps on average, by N(0, 1) times 0.3 to 3.

    Args:
      numbers: 2 uniform numbers.
      numbers_2N: 2 uniform numbers a step.
    """
    stay, size = numbers
    is_jump_N = numbers_2N[1] * log_uniform(stay, 8.0, 150.0) < 1.0
    return log_uniform(size, 0.3, 3.0) * jnp.cumsum(jnp.where(is_jump_N, normal(numbers_2N[0]), 0.0))
