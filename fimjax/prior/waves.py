"""Stationary Gaussian processes as sums of waves, which can be read at any times and need no Cholesky."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import exponential, normal
from fimjax.prior.fast_trig import cos_turns


def add_waves(
    numbers_2F: jax.Array, times_N: jax.Array, frequencies_F: jax.Array, deviations_F: jax.Array
) -> jax.Array:
    """The Gaussian process with covariance sum_f deviations_f^2 cos(2 pi frequencies_f (t - t')).

    Each wave a cos + b sin with normal a, b is one cosine with a Rayleigh amplitude and a uniform phase, which come
    from two uniform numbers and halve the cosines.
    """
    amplitudes_F = deviations_F * jnp.sqrt(2.0 * exponential(numbers_2F[0]))
    cycles_FN = frequencies_F[:, None] * times_N[None, :] + numbers_2F[1][:, None]
    # Accelerators would round the factors of the product to bfloat16.
    return jnp.dot(amplitudes_F, cos_turns(cycles_FN), precision="highest")


def smooth_waves(key: jax.Array, times_N: jax.Array, length_scale: jax.Array, features: int = 32) -> jax.Array:
    """Unit-variance process with the squared-exponential kernel, by random Fourier features (Rahimi and Recht 2007)."""
    numbers_3F = random.uniform(key, (3, features))
    frequencies_F = normal(numbers_3F[2]) / (2 * jnp.pi * length_scale)
    return add_waves(numbers_3F[:2], times_N, frequencies_F, jnp.full((features,), features**-0.5))
