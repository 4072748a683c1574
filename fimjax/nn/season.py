"""Fourier features of time and of the season's phase."""

import jax
import jax.numpy as jnp
from flax import struct


def fourier_features(cycles: jax.Array, count: int) -> jax.Array:
    """Sines and cosines of the first `count` multiples of an angle, given in cycles: [...] -> [..., 2 * count]."""
    multiples = jnp.arange(1, count + 1, dtype=jnp.float32).reshape((1,) * cycles.ndim + (count,))
    angles = 2 * jnp.pi * cycles[..., None] * multiples
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)


class SeasonPhase(struct.PyTreeNode):
    """Turns times into phases of the season. Each field has one entry for each leading index of the times."""

    origin: jax.Array  # the time at which the phase is zero
    step: jax.Array  # the time between two regular steps
    season: jax.Array  # season length in steps; 1 = none or unknown

    def features(self, times: jax.Array, harmonics: int) -> jax.Array:
        """Fourier features of the season's phase, and the logarithm of the season's length.

        A series without a season gets zeros, which stand for "unknown".

        Args:
            times: [..., T].
            harmonics: how many multiples of the season's frequency.

        Returns:
            [..., T, 2 * harmonics + 1], float32.
        """
        steps = (times - self.origin[..., None]) / self.step[..., None]
        season = self.season.astype(jnp.float32)[..., None]
        # The remainder keeps the angle small: far from the origin, float32 would lose the phase.
        cycles = jnp.mod(steps, season) / season
        log_length = jnp.broadcast_to(jnp.log(season)[..., None], (*cycles.shape, 1))
        features = jnp.concatenate([fourier_features(cycles, harmonics), log_length], axis=-1)
        return jnp.where(season[..., None] > 1, features, 0.0)

    def repeat(self, count: int) -> "SeasonPhase":
        """The same phase for each of `count` windows of a series, with windows folded into the leading axis."""
        return jax.tree.map(lambda x: jnp.repeat(x, count, axis=0), self)
