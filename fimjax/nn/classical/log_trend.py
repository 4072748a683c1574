"""Growth by a share of what there is: a season and lines fitted to logarithms, by the means of `smoothers`.

What people count and sell grows by so many per cent, and its seasons grow with it. That shows in how far a series lies
above its floor, which a series scaled to mean 0 and deviation 1 does not tell. Logarithms are taken above a ground: the
floor, or a little below the least value if the floor lies closer to it; far away where no floor is known, so that
growth is as good as straight.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from fimjax.nn.classical.decomposition import seasonal_parts
from fimjax.nn.classical.smoothers import BOUND, LEAST_MISS, discounted, in_order, mean_step

HALF_LIVES = (2.0, 6.0, 20.0, 80.0)
"""Of the lines, in steps."""
FAR, NEAR = 30.0, 0.25
"""Where the ground may lie, in deviations of the series: so far below its mean at most, so far below its least value at
least."""
MOST_GROWTH = 2.0
"""Bound of the logarithm of what growth multiplies the last value by."""
RECENT = 6.0
"""Half-life, in steps, of the level at whose height steps are told."""
DECISION = 4
"""Power by which the smaller of two kinds of steps is taken for the right one."""
UNKNOWN = -2.0
"""Stands for the heights above an unknown floor; those above a known one are positive."""


class Grown(NamedTuple):
    """What growth makes of B series at Q times."""

    forecasts: jax.Array  # [B, Q, len(HALF_LIVES)]
    heights: jax.Array  # [B, 2], how far above the floor the least and the last value lie
    steps: jax.Array  # [B, Q], the mean step as a share of the height, at the height that the season has at each time
    typical: jax.Array  # [B], the same at the mean height of the series


def grow(
    values: jax.Array,
    steps: jax.Array,
    mask: jax.Array,
    season: jax.Array,
    ahead: jax.Array,
    last: jax.Array,
    floor: jax.Array,
) -> Grown:
    """Lines through the logarithms of the values above the ground, with their season.

    Args:
        values, steps, mask, season, ahead: as of `smooth`.
        last: [B], the newest value.
        floor: [B], below which no value lies, in deviations of the series; -inf if it is unknown.
    """
    low = jnp.min(jnp.where(mask, values, last[:, None]), axis=-1)
    ground = jnp.clip(floor, -FAR, low - NEAR)
    height = (last - ground)[:, None]
    # The bound holds for what was not observed, whatever stands there.
    logarithms = jnp.log1p(jnp.maximum((values - last[:, None]) / height, NEAR / height - 1.0))
    logarithms = jnp.where(mask, logarithms, 0.0)
    _, past, future = seasonal_parts(logarithms, steps, mask, season, ahead)
    level = jnp.where(mask, logarithms - past, 0.0)
    lines = jnp.stack([discounted(level, steps, mask, half_life, ahead)[..., 1] for half_life in HALF_LIVES], axis=-1)
    step = mean_step(*in_order(level, steps, mask))
    recent = discounted(level, steps, mask, RECENT, ahead)[..., 0]
    tall = height * jnp.exp(jnp.clip(recent + future, -MOST_GROWTH, MOST_GROWTH))
    mean = jnp.sum(jnp.where(mask, values, 0.0), axis=-1) / jnp.maximum(jnp.sum(mask, axis=-1), 1)
    growth = jnp.clip(lines + future[..., None], -MOST_GROWTH, MOST_GROWTH)
    heights = jnp.arcsinh(jnp.stack([low, last], axis=-1) - jnp.maximum(floor, -FAR)[:, None])
    return Grown(
        forecasts=last[:, None, None] + jnp.clip(height[..., None] * jnp.expm1(growth), -BOUND, BOUND),
        heights=jnp.where(jnp.isfinite(floor)[:, None], heights, UNKNOWN),
        steps=LEAST_MISS + step[:, None] * tall,
        typical=LEAST_MISS + step * (mean - ground),
    )


def choose_unit(unit: jax.Array, ahead: jax.Array, grown: Grown) -> jax.Array:
    """How far a naive forecast may miss [B, Q], by shares of the height where the steps of a series are smaller so.

    Where the season's size and the errors grow with the level, those at a peak are larger than those in a trough, and
    the steps that are left beside an additive season are mostly of its making.

    Args:
        unit: [B, Q], by steps of one size; ahead: [B, Q], in steps.
    """
    longer = jnp.sqrt(1.0 + jnp.maximum(ahead, 0.0))
    plain = unit / longer
    by_share = plain**DECISION / (plain**DECISION + grown.typical[:, None] ** DECISION)
    return longer * (by_share * grown.steps + (1.0 - by_share) * plain)
