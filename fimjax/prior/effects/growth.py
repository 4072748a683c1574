"""Steady growth: a straight or piecewise linear trend, mostly upwards, and more often the longer a step lasts."""

import jax
import jax.numpy as jnp

from fimjax.config import PriorConfig
from fimjax.prior.distributions import log_uniform, normal, uniform_numbers
from fimjax.prior.effects.scale import spread
from fimjax.prior.effects.state import SeriesState
from fimjax.prior.processes import latest_event
from fimjax.prior.timescale import growth_frequency, share_rising, timescale, yearly_factor

MIN_RISE = 0.5
"""Smallest rise from the first step to the last, in standard deviations of the path before growth."""
YEARLY_RISE_FACTOR = 2.5
"""Yearly series rise this many times as far as others."""
YEARLY_SHARE_RISING = 0.95
"""Share of yearly growth that goes up; the rest goes down."""
PIECEWISE_SHARE = 0.8
"""Share of growing series whose slope changes."""


def growth(key: jax.Array, state: SeriesState, config: PriorConfig) -> SeriesState:
    """Add a trend to a share of the series that depends on how long a step lasts."""
    n = state.exists.shape[0]
    (draws_growth, direction, size), shape, change_u_N, slope_u_N = uniform_numbers(key, (3,), (3,), (n,), (n,))
    grows = state.traits.may_add_structure & (draws_growth < config.growth * growth_frequency(state.season))
    rise = (
        jnp.where(direction < share_rising(state.season, YEARLY_SHARE_RISING), 1.0, -1.0)
        * yearly_factor(state.season, YEARLY_RISE_FACTOR)
        * log_uniform(size, MIN_RISE, config.max_rise)
        * spread(state.base, state.exists).deviation
        * grows
    )
    slopes_N = slopes(shape, change_u_N, slope_u_N, state.season)
    return state.add(rise * unit_trend(slopes_N, state.exists))._replace(rise=rise)


def slopes(numbers: jax.Array, change_u_N: jax.Array, slope_u_N: jax.Array, season: jax.Array) -> jax.Array:
    """Slopes [N] of a trend, 1 on average: constant, or in PIECEWISE_SHARE of the series N(1, 0.3 to 2) piece by piece.

    A piece lasts 5 to 40 years, 10 to 80 quarters or 17 to 140 months on average.

    Args:
      numbers: 3 uniform numbers.
      change_u_N: uniform numbers, for the steps at which the slope changes.
      slope_u_N: uniform numbers, for the slopes.
      season: in steps.
    """
    draws_pieces, piece_length, size = numbers
    deviation = log_uniform(size, 0.3, 2.0) * (draws_pieces < PIECEWISE_SHARE)
    is_change_N = change_u_N * log_uniform(piece_length, 5.0, 40.0) < timescale(season)
    return 1.0 + deviation * normal(slope_u_N)[latest_event(is_change_N)]


def unit_trend(slopes_N: jax.Array, exists_N: jax.Array) -> jax.Array:
    """Trend [N] that rises by the mean slope over the steps that exist."""
    return jnp.cumsum(jnp.where(exists_N, slopes_N, 0.0)) / jnp.maximum(jnp.sum(exists_N), 1)
