"""Classical forecasts that an answer may start from: a season by regression, levels and lines by discounting.

Discounted least squares (Brown 1963) in two steps. The series is taken apart (`decomposition`), and levels and lines
are fitted to what is left of the values beside the season, the older ones weighing less by several half-lives. What may
be left of the season is averaged over the same phases. All of it moves and stretches with the values, is smooth in time
and works on any times.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from fimjax.nn.classical.decomposition import seasonal_parts
from fimjax.nn.scaling import safe_sqrt

HALF_LIVES = (0.3, 2.0, 6.0, 20.0, 80.0)
"""Steps in which an observation loses half of its weight, from nearly the last value to nearly all of them."""
MEMORIES = (1.0, 4.0)
"""Seasons in which an observation loses half of its weight for what may be left of the season."""
PHASE_WIDTH, RIDGE_PHASE = 0.4, 0.3
"""Deviation, in steps, within which phases are the same, and what shrinks their means, in observations."""
RIDGE_LINE = 0.005
"""Shrinks slopes a little, so that two points have an answer too: in squares of a half-life, or of the history."""
LEAST_REACH = 0.1
"""Of that history, in steps."""
BOUND = 10.0
"""Of the forecasts, in deviations of the series, about its last value: lines run away."""
LEAST_MISS = 0.003
"""Of the unit, in deviations of the series."""


class Smoothed(NamedTuple):
    """What the smoothers make of B series at Q times."""

    forecasts: jax.Array  # [B, Q, G]
    remainders: jax.Array  # [B, Q, len(MEMORIES)], what may have to be added
    unit: jax.Array  # [B, Q], how far a naive forecast may miss
    character: jax.Array  # [B, C], logarithms of how large steps, season and deviations from a line are


def smooth(values: jax.Array, steps: jax.Array, mask: jax.Array, season: jax.Array, ahead: jax.Array) -> Smoothed:
    """Forecasts of the smoothers.

    Args:
        values, steps, mask: [B, N], values in deviations of the series, steps before the last observation (0, -1, ...).
        season: [B], in steps; 1 = none or unknown.
        ahead: [B, Q], steps after the last observation.
    """
    values, steps, mask = in_order(values, steps, mask)
    last = _newest(values, mask)
    values = jnp.where(mask, values - last[:, None], 0.0)
    slow, past, future = seasonal_parts(values, steps, mask, season, ahead)
    level, rest = (jnp.where(mask, values - part, 0.0) for part in (past, past + slow))
    lines = [discounted(level, steps, mask, half_life, ahead) for half_life in HALF_LIVES]
    forecasts = jnp.concatenate(lines, axis=-1) + future[..., None]
    step_size = mean_step(level, steps, mask)
    off_line = _mean(jnp.abs(level - discounted(level, steps, mask, HALF_LIVES[-1], steps)[..., 1]), mask)
    character = jnp.stack([step_size, _mean(jnp.abs(past), mask), off_line], axis=-1)
    unit = (LEAST_MISS + step_size)[:, None] * jnp.sqrt(1.0 + jnp.maximum(ahead, 0.0))
    return Smoothed(
        forecasts=last[:, None, None] + jnp.clip(forecasts, -BOUND, BOUND),
        remainders=same_phase(rest, steps, mask, season, ahead),
        unit=unit,
        character=jnp.log(LEAST_MISS + character),
    )


def in_order(values: jax.Array, steps: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The same [B, N] in the order of time; what was not observed comes last."""
    order = jnp.argsort(jnp.where(mask, steps, 1.0), axis=-1)
    return tuple(jnp.take_along_axis(x, order, axis=-1) for x in (values, steps, mask))


def same_phase(rest: jax.Array, steps: jax.Array, mask: jax.Array, season: jax.Array, ahead: jax.Array) -> jax.Array:
    """Discounted means of what is left [B, N] at the phases of the times ahead: [B, Q, len(MEMORIES)]."""
    length = season.astype(jnp.float32)[:, None, None]
    apart = jnp.mod(ahead[:, :, None] - steps[:, None, :] + length / 2, length) - length / 2
    near = jnp.where(mask[:, None, :] & (length > 1), jnp.exp(-0.5 * (apart / PHASE_WIDTH) ** 2), 0.0)

    def mean(memory: float) -> jax.Array:
        weights = near * 2.0 ** (steps[:, None, :] / (memory * length))
        total = jnp.sum(weights * rest[:, None, :], axis=-1)
        return total / (jnp.sum(weights, axis=-1) + RIDGE_PHASE)

    return jnp.stack([mean(memory) for memory in MEMORIES], axis=-1)


def discounted(values: jax.Array, steps: jax.Array, mask: jax.Array, half_life: float, asked: jax.Array) -> jax.Array:
    """The level, and the line, of a half-life at the steps asked for [B, Q]: [B, Q, 2]."""
    newest = jnp.max(jnp.where(mask, steps, -jnp.inf), axis=-1, keepdims=True)
    weights = jnp.where(mask, 2.0 ** (jnp.where(mask, steps - newest, 0.0) / half_life), 0.0)
    weights = weights / jnp.maximum(jnp.sum(weights, axis=-1, keepdims=True), 1.0)
    mean = lambda x: jnp.sum(weights * x, axis=-1, keepdims=True)
    centre, level = mean(steps), mean(values)
    u = steps - centre
    reach = jnp.minimum(newest - jnp.min(jnp.where(mask, steps, jnp.inf), axis=-1, keepdims=True), half_life)
    slope = mean(u * (values - level)) / (mean(u**2) + RIDGE_LINE * jnp.maximum(reach, LEAST_REACH) ** 2)
    line = level + slope * (asked - centre)
    return jnp.stack([jnp.broadcast_to(level, line.shape), line], axis=-1)


def _newest(values: jax.Array, mask: jax.Array) -> jax.Array:
    """The last observed of sorted values [B, N]; zero if there is none."""
    place = jnp.maximum(jnp.sum(mask, axis=-1, keepdims=True) - 1, 0)
    return jnp.where(jnp.any(mask, axis=-1), jnp.take_along_axis(values, place, axis=-1)[:, 0], 0.0)


def _mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(mask, x, 0.0), axis=-1) / jnp.maximum(jnp.sum(mask, axis=-1), 1)


def mean_step(values: jax.Array, steps: jax.Array, mask: jax.Array) -> jax.Array:
    """How far ordered values [B, N] move in a step, on average, if they move at random: [B]."""
    gap = jnp.maximum(steps[:, 1:] - steps[:, :-1], 0.1)
    return _mean(jnp.abs(values[:, 1:] - values[:, :-1]) / safe_sqrt(gap), mask[:, 1:])
