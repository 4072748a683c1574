"""The distributions of the prior, as quantile functions of uniform numbers.

Each family and each effect draws its uniform numbers in one call, names them as it unpacks them, and maps them to its
distributions here. One call of the generator, `split` included, takes a third of a second to compile.
"""

import math

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.fast_trig import cos_2pi

HEAVY_TAIL_BOUND = 6.0
"""Heavy-tailed innovations are clipped here, in standard deviations."""


def uniform_numbers(key: jax.Array, *shapes: tuple[int, ...]) -> list[jax.Array]:
    """Independent uniform numbers on [0, 1), one array of each shape, from one call of the generator."""
    sizes = [math.prod(shape) for shape in shapes]
    numbers = random.uniform(key, (sum(sizes),))
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [numbers[start : start + size].reshape(shape) for start, size, shape in zip(starts, sizes, shapes)]


def uniform(u: jax.Array, low: float | jax.Array, high: float | jax.Array) -> jax.Array:
    """Uniform between two bounds."""
    return low + (high - low) * u


def log_uniform(u: jax.Array, low: float | jax.Array, high: float | jax.Array) -> jax.Array:
    """Uniform in the logarithm, between two positive bounds."""
    return jnp.exp(uniform(u, jnp.log(low), jnp.log(high)))


def normal(u: jax.Array) -> jax.Array:
    """Standard normal, within 5.2 deviations because uniform float32 numbers reach no further."""
    return jnp.sqrt(2.0) * jax.lax.erf_inv(2.0 * jnp.maximum(u, 1e-7) - 1.0)


def sign_biased_normal(u: jax.Array, share_positive: float | jax.Array) -> jax.Array:
    """A standard normal magnitude with a positive sign in a given share of the draws."""
    share_negative = 1.0 - share_positive
    return normal(jnp.where(u < share_negative, 0.5 * u / share_negative, 1.0 - 0.5 * (1.0 - u) / share_positive))


def exponential(u: jax.Array) -> jax.Array:
    """Exponential of mean one."""
    return -jnp.log1p(-u)


def beta(a_numbers: jax.Array, b_numbers: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """Beta(a, b) = G_a / (G_a + G_b) for whole a and b, because Gamma variables are sums of exponential ones.

    Args:
      a_numbers: at least `a` uniform numbers.
      b_numbers: at least `b` uniform numbers.
    """
    gamma_a = jnp.sum(exponential(a_numbers), where=jnp.arange(a_numbers.shape[0]) < a)
    gamma_b = jnp.sum(exponential(b_numbers), where=jnp.arange(b_numbers.shape[0]) < b)
    return gamma_a / jnp.maximum(gamma_a + gamma_b, 1e-6)


def beta_half_three(numbers: jax.Array) -> jax.Array:
    """Beta(1/2, 3) of four uniform numbers; Gamma(1/2) is half a squared normal. Small values are likely."""
    gamma_half = 0.5 * normal(numbers[0]) ** 2
    gamma_three = jnp.sum(exponential(numbers[1:4]))
    return gamma_half / jnp.maximum(gamma_half + gamma_three, 1e-6)


def innovations(key: jax.Array, n: int, heavy_share: float = 0.3) -> jax.Array:
    """White noise [n] of unit variance: normal, or in a share of the series Student's t of 3 degrees over sqrt(3).

    Bailey's polar method (1994): sqrt(nu (u^(-2/nu) - 1)) cos(2 pi v) has the t distribution for uniform u, v. As nu
    grows it becomes Box and Muller's sqrt(-2 log u) cos(2 pi v). So both kinds share their numbers and one logarithm.
    """
    radius_u, angle_u, kind = uniform_numbers(key, (n,), (n,), ())
    minus_log_u = -jnp.log(1.0 - radius_u)
    heavy_square = jnp.minimum(jnp.exp(2.0 / 3.0 * minus_log_u) - 1.0, HEAVY_TAIL_BOUND**2)
    return jnp.sqrt(jnp.where(kind < heavy_share, heavy_square, 2.0 * minus_log_u)) * cos_2pi(angle_u)
