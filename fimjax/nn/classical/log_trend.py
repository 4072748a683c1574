"""Multiplicative growth: a season and discounted lines fitted to logarithms, by the functions of `smoothers`.

What people count and sell grows by a percentage, and its season grows with it. That shows in the height of a series
above its floor, which is lost when a series is scaled to mean 0 and standard deviation 1. Logarithms are taken of the
height above a ground level: the floor, or a little below the lowest value if the floor is closer than that. If no floor
is known, the ground is far away, so that growth is almost linear.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from fimjax.nn.classical.decomposition import decompose
from fimjax.nn.classical.smoothers import BOUND, LEAST_ERROR, discounted_fit, mean_step, sort_by_time

HALF_LIVES = (2.0, 6.0, 20.0, 80.0)
"""Half-lives of the lines, in steps."""
FARTHEST_GROUND, NEAREST_GROUND = 30.0, 0.25
"""Bounds of the ground level in standard deviations: at most this far below the mean, and at least this far below the
lowest value."""
MOST_GROWTH = 2.0
"""Bound of the logarithm of the growth factor relative to the last value."""
RECENT = 6.0
"""Half-life, in steps, of the level at whose height the step size is measured."""
SHARPNESS = 4
"""Power that makes the choice between additive and multiplicative steps nearly a hard one."""
UNKNOWN_HEIGHT = -2.0
"""Stands for the heights above an unknown floor. Heights above a known one are positive."""


class LogTrend(NamedTuple):
    """Multiplicative forecasts of B series at Q times."""

    forecasts: jax.Array  # [B, Q, len(HALF_LIVES)]
    heights: jax.Array  # [B, 2], heights of the lowest and the last value above the floor
    step_size: jax.Array  # [B, Q], relative step size times the height of the season at each time
    typical_step_size: jax.Array  # [B], the same at the mean height of the series


def fit_log_trend(
    values: jax.Array,
    steps: jax.Array,
    mask: jax.Array,
    season: jax.Array,
    query_steps: jax.Array,
    last: jax.Array,
    floor: jax.Array,
) -> LogTrend:
    """Lines through the logarithms of the heights above the ground, with their season.

    Args:
        values, steps, mask, season, query_steps: as in `smooth`.
        last: [B], the newest value.
        floor: [B], lower bound of the values in standard deviations; -inf if it is unknown.
    """
    lowest = jnp.min(jnp.where(mask, values, last[:, None]), axis=-1)
    ground = jnp.clip(floor, -FARTHEST_GROUND, lowest - NEAREST_GROUND)
    height = (last - ground)[:, None]
    # The lower bound keeps the logarithm finite for the content of unobserved slots.
    logarithms = jnp.log1p(jnp.maximum((values - last[:, None]) / height, NEAREST_GROUND / height - 1.0))
    logarithms = jnp.where(mask, logarithms, 0.0)
    _, past, future = decompose(logarithms, steps, mask, season, query_steps)
    level = jnp.where(mask, logarithms - past, 0.0)
    lines = [discounted_fit(level, steps, mask, half_life, query_steps)[..., 1] for half_life in HALF_LIVES]
    relative_step = mean_step(*sort_by_time(level, steps, mask))
    recent_level = discounted_fit(level, steps, mask, RECENT, query_steps)[..., 0]
    query_height = height * jnp.exp(jnp.clip(recent_level + future, -MOST_GROWTH, MOST_GROWTH))
    mean = jnp.sum(jnp.where(mask, values, 0.0), axis=-1) / jnp.maximum(jnp.sum(mask, axis=-1), 1)
    growth = jnp.clip(jnp.stack(lines, axis=-1) + future[..., None], -MOST_GROWTH, MOST_GROWTH)
    heights = jnp.arcsinh(jnp.stack([lowest, last], axis=-1) - jnp.maximum(floor, -FARTHEST_GROUND)[:, None])
    return LogTrend(
        forecasts=last[:, None, None] + jnp.clip(height[..., None] * jnp.expm1(growth), -BOUND, BOUND),
        heights=jnp.where(jnp.isfinite(floor)[:, None], heights, UNKNOWN_HEIGHT),
        step_size=LEAST_ERROR + relative_step[:, None] * query_height,
        typical_step_size=LEAST_ERROR + relative_step * (mean - ground),
    )


def choose_error_scale(error_scale: jax.Array, query_steps: jax.Array, trend: LogTrend) -> jax.Array:
    """The error scale of a naive forecast [B, Q], in proportion to the height if steps are smaller on that scale.

    Where season and errors grow with the level, errors at a peak are larger than in a trough, and the steps left beside
    an additive season mostly come from its misfit.

    Args:
        error_scale: [B, Q], for steps of one size; query_steps: [B, Q].
    """
    horizon_growth = jnp.sqrt(1.0 + jnp.maximum(query_steps, 0.0))
    additive = error_scale / horizon_growth
    is_multiplicative = additive**SHARPNESS / (additive**SHARPNESS + trend.typical_step_size[:, None] ** SHARPNESS)
    return horizon_growth * (is_multiplicative * trend.step_size + (1.0 - is_multiplicative) * additive)
