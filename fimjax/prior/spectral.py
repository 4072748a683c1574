"""Stationary Gaussian processes as sums of cosines: defined at any times, without a Cholesky factorisation."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import exponential, normal
from fimjax.prior.fast_trig import cos_2pi


def sum_of_cosines(
    amplitude_u_F: jax.Array,
    phase_u_F: jax.Array,
    times_N: jax.Array,
    frequencies_F: jax.Array,
    deviations_F: jax.Array,
) -> jax.Array:
    """The Gaussian process [N] with covariance sum_f deviations_f^2 cos(2 pi frequencies_f (t - t')).

    a cos + b sin with normal a and b is one cosine with a Rayleigh amplitude and a uniform phase. So one cosine and two
    uniform numbers suffice for each frequency.

    Args:
      amplitude_u_F: uniform numbers, for the amplitudes.
      phase_u_F: uniform numbers, for the phases.
      times_N: in steps.
      frequencies_F: per step.
      deviations_F: standard deviation of the process at each frequency.
    """
    amplitudes_F = deviations_F * jnp.sqrt(2.0 * exponential(amplitude_u_F))
    phases_FN = frequencies_F[:, None] * times_N[None, :] + phase_u_F[:, None]
    # Accelerators would round the factors of the product to bfloat16.
    return jnp.dot(amplitudes_F, cos_2pi(phases_FN), precision="highest")


def squared_exponential_process(
    key: jax.Array, times_N: jax.Array, length_scale: jax.Array, features: int = 32
) -> jax.Array:
    """Unit-variance process [N] with the squared-exponential kernel, by random Fourier features (Rahimi 2007)."""
    amplitude_u_F, phase_u_F, frequency_u_F = random.uniform(key, (3, features))
    frequencies_F = normal(frequency_u_F) / (2 * jnp.pi * length_scale)
    deviations_F = jnp.full((features,), features**-0.5)
    return sum_of_cosines(amplitude_u_F, phase_u_F, times_N, frequencies_F, deviations_F)
