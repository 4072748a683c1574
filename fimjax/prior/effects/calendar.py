"""Daily and weekly patterns of series whose season is one day: similar days, and weeks with one or two days off.

Real hourly series have strong daily patterns and levels that move little. Without weekly patterns in the prior, a
model takes a weekend for noise, and its intervals are too wide on all days.
"""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.config import PriorConfig
from fimjax.prior.distributions import log_uniform, normal, uniform, uniform_numbers
from fimjax.prior.effects.scale import seasonally_adjusted_scale, spread
from fimjax.prior.effects.state import SeriesState, where
from fimjax.prior.family import Path
from fimjax.prior.seasonal import repeat, seasonal_pattern
from fimjax.prior.timescale import DAYS_PER_WEEK, is_day_season

DAILY_SIZE = (1.0, 15.0)
"""Size of the daily pattern, in seasonally adjusted standard deviations of the path."""


def daily_and_weekly_patterns(key: jax.Array, state: SeriesState, config: PriorConfig) -> SeriesState:
    """Add a daily pattern and weekly days off, each in its share of the series whose season is one day."""
    daily_share, weekly_share = config.daily_pattern, config.weekly_pattern
    number_key, pattern_key = random.split(key)
    (draws_daily, size, draws_weekly), week_numbers = uniform_numbers(number_key, (3,), (5 + DAYS_PER_WEEK,))
    may_have = is_day_season(state.season) & state.traits.may_add_structure

    has_daily = may_have & (draws_daily < daily_share)
    unit = seasonally_adjusted_scale(state.path.noisy, state.exists, state.season).deviation
    daily = add_daily_pattern(pattern_key, state.path, log_uniform(size, *DAILY_SIZE) * unit, state.season)
    path = where(has_daily, daily, state.path)

    has_weekly = may_have & (draws_weekly < weekly_share)
    path = where(has_weekly, add_days_off(week_numbers, path, state.exists, state.season), path)
    return state._replace(path=path, base=path.noisy, has_daily_pattern=has_daily)


def add_daily_pattern(key: jax.Array, path: Path, size: jax.Array, season: jax.Array) -> Path:
    """The path plus a random pattern of one season, repeated."""
    daily_N = repeat(seasonal_pattern(key, season), season, path.noisy.shape[0])
    return jax.tree.map(lambda values_N: values_N + size * daily_N, path)


def add_days_off(numbers: jax.Array, path: Path, exists_N: jax.Array, season: jax.Array) -> Path:
    """The path with one (30 %) or two days off in each week.

    On days off, deviations from the mean are scaled by U(0.2, 1.1) and shifted by N(0, 0.5^2) standard deviations of
    the path. In half of the series each day of the week also has a shift of its own, N(0, 0.2^2).

    Args:
      numbers: 5 + DAYS_PER_WEEK uniform numbers.
      path: before the weekly pattern.
      exists_N: steps that the mean and the standard deviation are taken over.
      season: steps in a day.
    """
    start, number_off, scale, shift, draws_own_shifts = numbers[:5]
    own_shifts = 0.2 * normal(numbers[5:]) * (draws_own_shifts < 0.5)
    mean, deviation, _ = spread(path.noisy, exists_N)
    first_step = jnp.floor(start * DAYS_PER_WEEK * season).astype(jnp.int32)
    day_N = (jnp.arange(path.noisy.shape[0]) + first_step) // season % DAYS_PER_WEEK
    is_off_N = day_N < jnp.where(number_off < 0.7, 2, 1)
    scale_N = jnp.where(is_off_N, uniform(scale, 0.2, 1.1), 1.0)
    shift_N = deviation * (own_shifts[day_N] + jnp.where(is_off_N, 0.5 * normal(shift), 0.0))
    return jax.tree.map(lambda values_N: mean + scale_N * (values_N - mean) + shift_N, path)
