"""Permanent level shifts: a border moves, a price is regulated, a count changes its definition.

A level shift does not continue. Without shifts in the prior, a model takes one for a slope and extrapolates it.
"""

import jax
import jax.numpy as jnp

from fimjax.config import PriorConfig
from fimjax.prior.distributions import log_uniform, normal, uniform_numbers
from fimjax.prior.effects.scale import level_unit
from fimjax.prior.effects.state import SeriesState


def jumps(key: jax.Array, state: SeriesState, config: PriorConfig) -> SeriesState:
    """Add a level that jumps now and then to a share of the series."""
    n = state.exists.shape[0]
    draws_jumps, shape, event_u_N, size_u_N = uniform_numbers(key, (), (2,), (n,), (n,))
    has_jumps = state.traits.may_add_structure & (draws_jumps < config.jumps)
    unit = level_unit(state.base, state.exists, state.season)
    return state.add(has_jumps * unit * jumping_level(shape, event_u_N, size_u_N))


def jumping_level(numbers: jax.Array, event_u_N: jax.Array, size_u_N: jax.Array) -> jax.Array:
    """Level [N] that jumps every 8 to 150 steps on average, by N(0, 1) times 0.3 to 3.

    Args:
      numbers: 2 uniform numbers.
      event_u_N: uniform numbers, for the steps at which the level jumps.
      size_u_N: uniform numbers, for the sizes of the jumps.
    """
    interval, size = numbers
    is_jump_N = event_u_N * log_uniform(interval, 8.0, 150.0) < 1.0
    return log_uniform(size, 0.3, 3.0) * jnp.cumsum(jnp.where(is_jump_N, normal(size_u_N), 0.0))
