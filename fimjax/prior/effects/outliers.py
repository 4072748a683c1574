"""A few outliers among the observations."""

import jax
import jax.numpy as jnp

from fimjax.config import PriorConfig
from fimjax.prior.distributions import uniform, uniform_numbers
from fimjax.prior.effects.noise import noise_share_factor
from fimjax.prior.effects.state import SeriesState

RATE = (0.005, 0.04)
"""Share of outliers among the observations of a series that has outliers."""
SIZE = (3.0, 8.0)
"""In standard deviations of the path."""


def outliers(key: jax.Array, state: SeriesState, config: PriorConfig) -> SeriesState:
    """Add outliers to the noise of a share of the series, except where the family allows no noise."""
    (draws_outliers, rate), u_WT = uniform_numbers(key, (2,), state.noise.shape)
    may_have = noise_share_factor(state.traits, config) > 0
    has_outliers = may_have & (draws_outliers < config.outliers)
    return state._replace(noise=state.noise + has_outliers * outlier_shifts(u_WT, uniform(rate, *RATE)))


def outlier_shifts(u: jax.Array, rate: float | jax.Array) -> jax.Array:
    """Shifts of 3 to 8, up or down, at a rate; zero elsewhere.

    A uniform number below the rate is uniform up to it, so it also gives the direction and the size.
    """
    signed = 2.0 * u / rate - 1.0
    return jnp.where(u < rate, jnp.copysign(uniform(jnp.abs(signed), *SIZE), signed), 0.0)
