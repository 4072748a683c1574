"""Random seasonal patterns."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.config import MAX_SEASON
from fimjax.prior.distributions import normal
from fimjax.prior.fast_trig import cos_turns

HARMONICS = 4


def seasonal_pattern(key: jax.Array, season: jax.Array) -> jax.Array:
    """One season [MAX_SEASON] of values of order one: a few harmonics mixed with raw noise, in random proportion.

    The first `season` entries have zero mean, the others are zero; hence a season of 1 is no season at all.
    """
    numbers = random.uniform(key, (MAX_SEASON + 2 * HARMONICS + 1,))
    raw_P, sizes_H, offsets_H, share = jnp.split(numbers, (MAX_SEASON, MAX_SEASON + HARMONICS, numbers.shape[0] - 1))
    harmonic_H = jnp.arange(1, HARMONICS + 1)
    amplitudes_H = normal(sizes_H) / harmonic_H
    phase_index_P = jnp.arange(MAX_SEASON)
    cycles_HP = harmonic_H[:, None] * phase_index_P[None, :] / season + offsets_H[:, None]
    regular_P = jnp.dot(amplitudes_H, cos_turns(cycles_HP), precision="highest")
    mixed_P = share * regular_P + (1 - share) * normal(raw_P)
    inside_P = phase_index_P < season
    return jnp.where(inside_P, mixed_P - jnp.mean(mixed_P, where=inside_P), 0.0)


def repeat(pattern_P: jax.Array, season: jax.Array, n: int) -> jax.Array:
    """The pattern repeated over n steps."""
    return pattern_P[jnp.arange(n) % season]
