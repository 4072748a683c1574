"""Business cycles: booms and slumps of several years that recur irregularly (Harvey 1989, section 2.3).

A rise over three years says little about the next three, a rise over decades says much. Without cycles in the prior, a
model extrapolates every boom.
"""

import jax
import jax.numpy as jnp

from fimjax.config import PriorConfig
from fimjax.prior.distributions import log_uniform, uniform, uniform_numbers
from fimjax.prior.effects.scale import level_unit
from fimjax.prior.effects.state import SeriesState
from fimjax.prior.spectral import sum_of_cosines
from fimjax.prior.timescale import is_monthly_or_longer

FREQUENCIES = 8
"""Cosines that a cycle is the sum of."""
MAX_QUANTILE = 0.97
"""The tails of the Lorentzian spectrum are cut here."""


def cycle(key: jax.Array, state: SeriesState, config: PriorConfig) -> SeriesState:
    """Add a cycle to a share of the yearly, quarterly and monthly series; cycles last too many weeks or days."""
    draws_cycle, shape, frequency_u_F, amplitude_u_F, phase_u_F = uniform_numbers(
        key, (), (4,), (FREQUENCIES,), (FREQUENCIES,), (FREQUENCIES,)
    )
    may_have = state.traits.may_add_structure & is_monthly_or_longer(state.season)
    has_cycle = may_have & (draws_cycle < config.cycles)
    n, unit = state.exists.shape[0], level_unit(state.base, state.exists, state.season)
    rise_per_season = state.rise * state.season / jnp.maximum(jnp.sum(state.exists), 1)
    cycle_N = stochastic_cycle(shape, frequency_u_F, amplitude_u_F, phase_u_F, n, state.season, rise_per_season / unit)
    return state.add(has_cycle * unit * cycle_N)


def stochastic_cycle(
    numbers: jax.Array,
    frequency_u_F: jax.Array,
    amplitude_u_F: jax.Array,
    phase_u_F: jax.Array,
    n: int,
    season: jax.Array,
    rise_per_season: jax.Array,
) -> jax.Array:
    """A cycle [n] of 4 to 16 seasons whose frequencies have a Lorentzian spectrum.

    The width of the spectrum is 0.05 to 0.5 of the frequency; a wide spectrum is a cycle that soon loses its phase. The
    standard deviation is 0.15 to 2, plus as much as makes the slopes of the cycle 0.2 to 4 times the trend's slope, so
    that a cycle can stop or reverse a trend.

    Args:
      numbers: 4 uniform numbers.
      frequency_u_F: uniform numbers, for the frequencies.
      amplitude_u_F: uniform numbers, for the amplitudes.
      phase_u_F: uniform numbers, for the phases.
      n: number of steps.
      season: in steps.
      rise_per_season: of the trend, in the unit of the cycle.
    """
    length, width, size, steepness = numbers
    seasons = log_uniform(length, 4.0, 16.0)
    cauchy_F = jnp.tan(jnp.pi / 2 * MAX_QUANTILE * uniform(frequency_u_F, -1.0, 1.0))
    frequencies_F = (1.0 + log_uniform(width, 0.05, 0.5) * cauchy_F) / (seasons * season)
    deviation_for_slope = log_uniform(steepness, 0.2, 4.0) * jnp.abs(rise_per_season) * seasons / (2 * jnp.pi)
    deviation = log_uniform(size, 0.15, 2.0) + deviation_for_slope
    deviations_F = jnp.broadcast_to(deviation / jnp.sqrt(frequencies_F.shape[0]), frequencies_F.shape)
    steps_N = jnp.arange(n, dtype=jnp.float32)
    return sum_of_cosines(amplitude_u_F, phase_u_F, steps_N, frequencies_F, deviations_F)
