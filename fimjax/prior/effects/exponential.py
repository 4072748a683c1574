"""Exponentials: growth, season and errors become multiplicative."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.config import PriorConfig
from fimjax.prior.distributions import log_uniform
from fimjax.prior.effects.scale import Spread, spread
from fimjax.prior.effects.state import SeriesState, where
from fimjax.prior.family import Path
from fimjax.prior.timescale import yearly_factor

LOG_DEVIATION = (0.03, 0.8)
"""Standard deviation of the logarithm of an exponentiated series."""
YEARLY_FACTORS = (4.0, 1.25)
"""For yearly series the ends of LOG_DEVIATION are multiplied by these: in thirty years growing series often double
more than once."""
MAX_EXPONENT = 6.0


def exponential(key: jax.Array, state: SeriesState, config: PriorConfig) -> SeriesState:
    """Exponentiate a share of the series."""
    draws_exponential, size = random.uniform(key, (2,))
    is_exponential = state.traits.may_exponentiate & (draws_exponential < config.exponential)
    low, high = (end * yearly_factor(state.season, factor) for end, factor in zip(LOG_DEVIATION, YEARLY_FACTORS))
    exponentiated = exponentiate(state.path, spread(state.path.noisy, state.exists), log_uniform(size, low, high))
    return state._replace(path=where(is_exponential, exponentiated, state.path), is_multiplicative=is_exponential)


def exponentiate(path: Path, path_spread: Spread, log_deviation: jax.Array) -> Path:
    """exp(log_deviation * (y - mean) / deviation) of both arrays of a path."""

    def transform(values_N: jax.Array) -> jax.Array:
        standardised_N = (values_N - path_spread.mean) / path_spread.deviation
        return jnp.exp((log_deviation * standardised_N).clip(-MAX_EXPONENT, MAX_EXPONENT))

    return jax.tree.map(transform, path)
