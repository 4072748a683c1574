"""How large the movements of a path are: the units in which effects are measured."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

MIN_DEVIATION = 1e-3
"""Families are of order one. A path that moves less than this is flat, and this is its unit."""
MIN_LEVEL_UNIT = 0.1
"""Lower bound of the unit of cycles and jumps, relative to the standard deviation of the whole path."""


class Spread(NamedTuple):
    """Location and scale of a path over the steps that exist."""

    mean: jax.Array
    deviation: jax.Array  # standard deviation, bounded from below
    magnitude: jax.Array  # mean absolute value


class AdjustedScale(NamedTuple):
    """Scales of a path without its season."""

    deviation: jax.Array  # standard deviation of the seasonally adjusted path
    step_change: jax.Array  # typical change of its level in one step


def spread(values_N: jax.Array, exists_N: jax.Array) -> Spread:
    """Mean, standard deviation and mean absolute value over the steps that exist."""
    mean = jnp.mean(values_N, where=exists_N)
    magnitude = jnp.mean(jnp.abs(values_N), where=exists_N)
    deviation = jnp.std(values_N, where=exists_N)
    return Spread(mean, jnp.maximum(deviation, MIN_DEVIATION + 1e-5 * magnitude), magnitude)


def seasonally_adjusted_scale(values_N: jax.Array, exists_N: jax.Array, season: jax.Array) -> AdjustedScale:
    """Scales from moving averages over a season and from seasonal differences, neither of which contains the season.

    The deviation is that of the moving averages or of the seasonal differences, whichever is larger. Both scales are 0
    if no step has a predecessor one season earlier.
    """
    total_N = jnp.cumsum(jnp.where(exists_N, values_N - jnp.mean(values_N, where=exists_N), 0.0))
    season_earlier_N = jnp.arange(values_N.shape[0]) - season
    has_earlier_N = exists_N & (season_earlier_N >= 0) & exists_N[season_earlier_N]
    any_earlier = jnp.any(has_earlier_N)
    included_N = has_earlier_N | ~any_earlier  # all steps if there is none, because a mean over nothing is NaN
    averages_N = (total_N - total_N[season_earlier_N]) / season
    differences_N = jnp.where(has_earlier_N, values_N - values_N[season_earlier_N], 0.0)

    average_deviation = jnp.where(any_earlier, jnp.std(averages_N, where=included_N), 0.0)
    mean_square = jnp.where(any_earlier, jnp.mean(differences_N**2, where=included_N), 0.0)
    mean_absolute = jnp.where(any_earlier, jnp.mean(jnp.abs(differences_N), where=included_N), 0.0)
    return AdjustedScale(
        deviation=jnp.maximum(average_deviation, jnp.sqrt(0.5 * mean_square)),
        # A random walk moves sqrt(season) steps' worth in a season.
        step_change=mean_absolute / jnp.sqrt(season),
    )


def level_unit(values_N: jax.Array, exists_N: jax.Array, season: jax.Array) -> jax.Array:
    """The unit of cycles and jumps: the seasonally adjusted deviation, within bounds given by the whole deviation."""
    deviation = spread(values_N, exists_N).deviation
    adjusted = seasonally_adjusted_scale(values_N, exists_N, season).deviation
    return adjusted.clip(MIN_LEVEL_UNIT * deviation, deviation)
