"""Measurement noise, additive or multiplicative, on the noisy values only.

Noise is drawn at the steps of the slots only, which are few where windows are thinned to their slots. A step that two
slots hold would get two different errors.
"""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.config import PriorConfig
from fimjax.prior.distributions import innovations, log_uniform, normal
from fimjax.prior.effects.scale import Spread, seasonally_adjusted_scale, spread
from fimjax.prior.effects.state import SeriesState
from fimjax.prior.family import Traits
from fimjax.prior.timescale import is_monthly_or_longer

MULTIPLICATIVE_SHARE = 0.2
"""Share of multiplicative noise among series that are not exponentiated; exponentiated ones have no other noise."""
LEVEL_NOISE = (0.2, 1.2)
"""Standard deviation of level noise, in typical one-step changes of the level."""
MIN_MONTHLY_LEVEL_NOISE = 0.3
"""Lower end of LEVEL_NOISE for seasons of more than 6 steps."""
DAILY_PATTERN_NOISE = (1.0, 20.0)
"""The same as LEVEL_NOISE for series with a daily pattern."""
HEAVY_TAIL_SHARE = 0.1
MAX_LOG_FACTOR = 2.0
"""Bound of the logarithm of a multiplicative error."""


def noise(key: jax.Array, state: SeriesState, config: PriorConfig) -> SeriesState:
    """Draw measurement noise [W, T], in standard deviations of the path.

    A share of the series has noise of any size. Series with a daily pattern, and a share of the seasonal quarterly and
    monthly series, have noise in proportion to the changes of their level. Of the two sizes the larger one is used.
    """
    level_noise_share = config.level_noise
    number_key, noise_key = random.split(key)
    draws_noise, kind, size, draws_multiplicative, draws_level_noise, level_size = random.uniform(number_key, (6,))
    share_factor = noise_share_factor(state.traits, config)
    has_noise = draws_noise < share_factor * config.noise
    any_deviation = noise_deviation(kind, size, config.max_noise) * has_noise

    is_seasonal_month = (state.season > 1) & is_monthly_or_longer(state.season)
    has_level_noise = state.has_daily_pattern | (is_seasonal_month & (draws_level_noise < level_noise_share))
    level_deviation = level_noise_deviation(level_size, state).clip(max=config.max_noise)
    deviation = jnp.maximum(any_deviation, level_deviation * (has_level_noise & (share_factor > 0)))

    errors_WT = innovations(noise_key, state.noise.size, HEAVY_TAIL_SHARE).reshape(state.noise.shape)
    return state._replace(
        noise=deviation * errors_WT,
        noise_is_multiplicative=state.is_multiplicative | (draws_multiplicative < MULTIPLICATIVE_SHARE),
    )


def noise_share_factor(traits: Traits, config: PriorConfig) -> jax.Array:
    """Factor of the share of noisy series: lower for processes with noise of their own, 0 where no noise is allowed."""
    return jnp.where(traits.has_own_noise, config.process_noise, 1.0) * traits.may_add_noise


def noise_deviation(kind: jax.Array, size: jax.Array, max_noise: float) -> jax.Array:
    """Standard deviation of the noise from two uniform numbers: log-uniform or |N(0, 0.1^2)|, half each."""
    wide = max_noise * log_uniform(size, 0.02, 1.0)
    return jnp.where(kind < 0.5, wide, jnp.minimum(0.1 * jnp.abs(normal(size)), max_noise))


def level_noise_deviation(u: jax.Array, state: SeriesState) -> jax.Array:
    """Standard deviation of noise in proportion to the changes of the level, in standard deviations of the path."""
    low = jnp.where(state.season > 6, MIN_MONTHLY_LEVEL_NOISE, LEVEL_NOISE[0])
    ratio = jnp.where(
        state.has_daily_pattern, log_uniform(u, *DAILY_PATTERN_NOISE), log_uniform(u, low, LEVEL_NOISE[1])
    )
    step_change = seasonally_adjusted_scale(state.path.noisy, state.exists, state.season).step_change
    return ratio * step_change / spread(state.path.noisy, state.exists).deviation


def add_noise(
    values: jax.Array, path_spread: Spread, errors: jax.Array, is_multiplicative: bool | jax.Array
) -> jax.Array:
    """Add errors that are given in standard deviations, or multiply by factors of that size, which keeps signs."""
    relative = path_spread.deviation / jnp.maximum(path_spread.magnitude, 0.5 * path_spread.deviation)
    log_factor = (relative * errors).clip(-MAX_LOG_FACTOR, MAX_LOG_FACTOR)
    return jnp.where(is_multiplicative, values * jnp.exp(log_factor), values + path_spread.deviation * errors)


def noisy_values(state: SeriesState) -> jax.Array:
    """The noisy path at the steps of the slots, with noise and outliers [W, T]."""
    path_spread = spread(state.path.noisy, state.exists)
    return add_noise(state.path.noisy[state.slot_steps], path_spread, state.noise, state.noise_is_multiplicative)
