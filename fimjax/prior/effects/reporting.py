"""The season and the lower bound that the model receives; either may be hidden, and the season may be wrong."""

import jax
import jax.numpy as jnp

from fimjax.config import PriorConfig
from fimjax.prior.distributions import log_uniform

FLOOR_DISTANCE = (0.05, 30.0)
"""Distance of the lowest value from the floor of a series that may be negative, in standard deviations."""


def reported_season(u: jax.Array, season: jax.Array, config: PriorConfig) -> jax.Array:
    """The season as the model sees it: 1 if hidden, any season of the config if wrong."""
    seasons = jnp.array(config.seasons, jnp.int32)
    wrong_u = (u - config.hidden_season) / max(config.wrong_season, 1e-6)  # in [0, 1) if the season is wrong
    wrong = seasons[jnp.clip(jnp.floor(wrong_u * seasons.shape[0]).astype(jnp.int32), 0, seasons.shape[0] - 1)]
    reported = jnp.where(u < config.hidden_season + config.wrong_season, wrong, season)
    return jnp.where(u < config.hidden_season, 1, reported)


def reported_floor(
    hidden_u: jax.Array,
    distance_u: jax.Array,
    noisy_WT: jax.Array,
    valid_WT: jax.Array,
    is_nonnegative: jax.Array,
    config: PriorConfig,
) -> jax.Array:
    """A lower bound of all values as the model sees it, -inf if hidden.

    It is zero for nonnegative series. Other series get a bound at a random distance below their lowest value, because
    amounts with additive growth have a floor too; it carries no information about them.
    """
    lowest = jnp.min(noisy_WT, where=valid_WT, initial=jnp.inf)
    distance = jnp.std(noisy_WT, where=valid_WT) * log_uniform(distance_u, *FLOOR_DISTANCE)
    floor = jnp.where(is_nonnegative, jnp.minimum(lowest, 0.0), lowest - distance)
    return jnp.where(hidden_u < config.hidden_floor, -jnp.inf, floor)
