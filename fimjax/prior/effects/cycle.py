"""Booms and slumps: a cycle of a few years, which comes back, but never quite as it was (Harvey 1989, section 2.3).

What has risen for three years rises less in the next three, though it goes on as it did for decades. Where trends are
lines and errors alone, each boom looks like the trend, and goes on.
"""

import jax
import jax.numpy as jnp

from fimjax.prior.distributions import log_uniform, uniform
from fimjax.prior.timescale import pace
from fimjax.prior.waves import add_waves

SHORT_STEPS = 0.2
"""Paces up to this are those of weeks and less."""
WAVES = 8
WIDEST = 0.97
"""Of half a turn: the tails of the frequencies are cut there."""


def sees_cycles(season: jax.Array) -> jax.Array:
    """Whether a step is a year, a quarter or a month, or about as long: the cycles of economies take too many weeks."""
    return pace(season) > SHORT_STEPS


def cycle(numbers: jax.Array, numbers_3F: jax.Array, n: int, season: jax.Array, rise: jax.Array) -> jax.Array:
    """A cycle [n] of 4 to 16 seasons with a deviation of 0.15 to 2, and so much more that it slows a rise or turns it
    round: 0.2 to 4 times as steep.

    A stochastic cycle that keeps its phase for a while has a Lorentzian spectrum, as wide as it is short-lived: 0.05 to
    0.5 of its frequency.

    Args:
      numbers: 4 uniform numbers.
      numbers_3F: 3 uniform numbers a wave.
      rise: in a season.
    """
    length, width, size, steepness = numbers
    seasons = log_uniform(length, 4.0, 16.0)
    tail_F = jnp.tan(jnp.pi / 2 * WIDEST * uniform(numbers_3F[0], -1.0, 1.0))
    frequencies_F = (1.0 + log_uniform(width, 0.05, 0.5) * tail_F) / (seasons * season)
    steep = log_uniform(steepness, 0.2, 4.0) * jnp.abs(rise) * seasons / (2 * jnp.pi)
    deviations_F = (log_uniform(size, 0.15, 2.0) + steep) / jnp.sqrt(numbers_3F.shape[1])
    steps_n = jnp.arange(n, dtype=jnp.float32)
    return add_waves(numbers_3F[1:], steps_n, frequencies_F, jnp.broadcast_to(deviations_F, frequencies_F.shape))
