"""Random seasonal patterns."""

import jax
import jax.numpy as jnp

from fimjax.config import MAX_SEASON
from fimjax.prior.distributions import normal, uniform_numbers
from fimjax.prior.fast_trig import cos_2pi

HARMONICS = 4


def seasonal_pattern(key: jax.Array, season: jax.Array) -> jax.Array:
    """One season [MAX_SEASON] of values of order one: a few harmonics mixed with white noise, in random proportion.

    The first `season` entries have zero mean, the others are zero. So a season of 1 is no season.
    """
    noise_u_P, amplitude_u_F, phase_u_F, share = uniform_numbers(key, (MAX_SEASON,), (HARMONICS,), (HARMONICS,), ())
    harmonic_F = jnp.arange(1, HARMONICS + 1)
    amplitudes_F = normal(amplitude_u_F) / harmonic_F
    step_P = jnp.arange(MAX_SEASON)
    phases_FP = harmonic_F[:, None] * step_P[None, :] / season + phase_u_F[:, None]
    regular_P = jnp.dot(amplitudes_F, cos_2pi(phases_FP), precision="highest")
    mixed_P = share * regular_P + (1 - share) * normal(noise_u_P)
    in_season_P = step_P < season
    return jnp.where(in_season_P, mixed_P - jnp.mean(mixed_P, where=in_season_P), 0.0)


def repeat(pattern_P: jax.Array, season: jax.Array, n: int) -> jax.Array:
    """The pattern repeated over n steps."""
    return pattern_P[jnp.arange(n) % season]
