"""Hours follow the clock: days that are much alike, weeks of such days, and levels that hardly move beside the errors.

Where a season of hours is as weak as one of months, a model is unsure of the next day. A season of a day says nothing
of the day after the last working day, either: where no series has weeks, a weekend looks like an error, and the
intervals of every day are the wider for it.
"""

import jax
import jax.numpy as jnp

DAYS, OF_A_DAY = 7, (24, 48, 96)
from fimjax.prior.distributions import log_uniform, normal, uniform
from fimjax.prior.path import Path
from fimjax.prior.seasonal import repeat, seasonal_pattern

DAY_SIZES = (1.0, 15.0)
"""How large a day is, in deviations of what a path does beside its season."""
ERRORS = (1.0, 20.0)
"""Deviation of the errors, in units of how far a level moves."""


def counts_hours(season: jax.Array) -> jax.Array:
    """Whether a season is a day."""
    return jnp.isin(season, jnp.array(OF_A_DAY))


def with_days(key: jax.Array, size: jax.Array, path: Path, unit: jax.Array, season: jax.Array) -> Path:
    """The path with a day on top, DAY_SIZES units large by the uniform number `size`."""
    day_N = repeat(seasonal_pattern(key, season), season, path.noisy.shape[0])
    return jax.tree.map(lambda values_N: values_N + log_uniform(size, *DAY_SIZES) * unit * day_N, path)


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
