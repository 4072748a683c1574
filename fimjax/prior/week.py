"""Weeks of days: what is counted by the hour has other hours on some days.

A season of a day says nothing of the day after the last working day. Where no series has weeks, a weekend looks like an
error, and the intervals of every day are the wider for it.
"""

import jax
import jax.numpy as jnp

from fimjax.prior.distributions import normal, uniform
from fimjax.prior.path import Path

OF_A_DAY, DAYS = (24, 48), 7
"""Seasons that last a day, as far as windows hold more than a week of them."""


def sees_weeks(season: jax.Array) -> jax.Array:
    """Whether a season is a day."""
    return jnp.isin(season, jnp.array(OF_A_DAY))


def with_weeks(numbers: jax.Array, path: Path, mean: jax.Array, deviation: jax.Array, season: jax.Array) -> Path:
    """The path with one or two days off in a week: what happens on them is 0.2 to 1.1 times as large, and shifted by
    N(0, 0.5) deviations; in half of the series each day is also shifted by N(0, 0.2) of its own.

    Args:
      numbers: 5 + DAYS uniform numbers.
      mean, deviation: of the path.
    """
    begin, count, size, shift, differs = numbers[:5]
    step_N = jnp.arange(path.noisy.shape[0]) + jnp.floor(begin * DAYS * season).astype(jnp.int32)
    day_N = step_N // season % DAYS
    is_off_N = day_N < jnp.where(count < 0.7, 2, 1)
    own_N = 0.2 * normal(numbers[5:])[day_N] * (differs < 0.5)
    factor_N = jnp.where(is_off_N, uniform(size, 0.2, 1.1), 1.0)
    shift_N = deviation * (own_N + jnp.where(is_off_N, 0.5 * normal(shift), 0.0))
    return jax.tree.map(lambda values_N: mean + factor_N * (values_N - mean) + shift_N, path)
