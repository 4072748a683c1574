"""Random Chebyshev expansions."""

import jax
import jax.numpy as jnp
from jax import lax, random

from fimjax.prior.distributions import log_uniform, uniform
from fimjax.prior.family import Path, noise_free

MAX_DEGREE = 50


def chebyshev_series(coefficients_C: jax.Array, x_N: jax.Array) -> jax.Array:
    """sum_k c_k T_k(x) for x in [-1, 1], by Clenshaw's recursion."""

    def step(carry: tuple[jax.Array, jax.Array], coefficient: jax.Array) -> tuple[tuple[jax.Array, jax.Array], None]:
        later_N, latest_N = carry
        return (latest_N, coefficient + 2 * x_N * latest_N - later_N), None

    zeros_N = jnp.zeros_like(x_N)
    (later_N, latest_N), _ = lax.scan(step, (zeros_N, zeros_N), coefficients_C[:0:-1], unroll=5)
    return coefficients_C[0] + x_N * latest_N - later_N


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """An expansion over the simulated span: degree log-uniform up to 50, coefficients N(0, 1) (k + 1)^-U(0.3, 2)."""
    scale_key, coefficient_key = random.split(key)
    degree_u, decay_u = random.uniform(scale_key, (2,))
    degree, decay = jnp.floor(log_uniform(degree_u, 2.0, MAX_DEGREE + 1)), uniform(decay_u, 0.3, 2.0)
    k = jnp.arange(MAX_DEGREE + 1)
    coefficients = random.normal(coefficient_key, k.shape) * (k + 1.0) ** -decay * (k <= degree)
    x_N = 2 * (times_N - times_N[0]) / (times_N[-1] - times_N[0]) - 1
    return noise_free(chebyshev_series(coefficients, x_N))
