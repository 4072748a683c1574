"""The distributions that the families share, as quantile functions of uniform numbers.

A family draws its scalars by one call of `random.uniform`, named as they are unpacked, and maps them here. A call of
the generator, splitting a key included, takes a third of a second to compile, and there would be hundreds.
"""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.fast_trig import cos_turns

HEAVY_BOUND = 6.0
"""Heavy-tailed innovations are clipped here, in standard deviations."""


def uniform(u: jax.Array, low: float, high: float) -> jax.Array:
    """Uniform between two bounds."""
    return low + (high - low) * u


def log_uniform(u: jax.Array, low: float, high: float) -> jax.Array:
    """Uniform in the logarithm, between two positive bounds."""
    return jnp.exp(uniform(u, jnp.log(low), jnp.log(high)))


def normal(u: jax.Array) -> jax.Array:
    """Standard normal; within 5.2 deviations, which is as far as uniform float32 numbers reach."""
    return jnp.sqrt(2.0) * jax.lax.erf_inv(2.0 * jnp.maximum(u, 1e-7) - 1.0)


def leaning_normal(u: jax.Array, upward: jax.Array) -> jax.Array:
    """Standard normal, but positive in a share `upward` of the draws."""
    falling = 1.0 - upward
    return normal(jnp.where(u < falling, 0.5 * u / falling, 1.0 - 0.5 * (1.0 - u) / upward))


def exponential(u: jax.Array) -> jax.Array:
    """Exponential of mean one."""
    return -jnp.log1p(-u)


def beta(a_numbers: jax.Array, b_numbers: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """Beta(a, b) for whole a, b up to the count of numbers: G_a / (G_a + G_b), Gammas being sums of exponentials."""
    gamma_a = jnp.sum(exponential(a_numbers), where=jnp.arange(a_numbers.shape[0]) < a)
    gamma_b = jnp.sum(exponential(b_numbers), where=jnp.arange(b_numbers.shape[0]) < b)
    return gamma_a / jnp.maximum(gamma_a + gamma_b, 1e-6)


def beta_half_three(numbers: jax.Array) -> jax.Array:
    """Beta(1/2, 3) of four numbers, small ones being likely: Gamma(1/2) is half a squared normal."""
    gamma_half = 0.5 * normal(numbers[0]) ** 2
    gamma_three = jnp.sum(exponential(numbers[1:4]))
    return gamma_half / jnp.maximum(gamma_half + gamma_three, 1e-6)


def innovations(key: jax.Array, n: int, heavy_share: float = 0.3) -> jax.Array:
    """White noise [n] of unit variance, normal, or in a share of the series Student's t of 3 degrees over sqrt(3).

    Bailey's polar method (1994): sqrt(nu (u^(-2/nu) - 1)) cos(2 pi v) has the t distribution for uniform u, v; as nu
    grows it becomes Box and Muller's sqrt(-2 log u) cos(2 pi v). So one pair of numbers serves both, and one logarithm.
    """
    numbers = random.uniform(key, (2 * n + 1,))
    minus_log_u, v, choice = -jnp.log(1.0 - numbers[:n]), numbers[n : 2 * n], numbers[-1]
    heavy_square = jnp.minimum(jnp.exp(2.0 / 3.0 * minus_log_u) - 1.0, HEAVY_BOUND**2)
    return jnp.sqrt(jnp.where(choice < heavy_share, heavy_square, 2.0 * minus_log_u)) * cos_turns(v)
