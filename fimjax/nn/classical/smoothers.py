"""Exponentially discounted levels and lines around a regressed season (Brown 1963), as baseline forecasts.

The season is taken out first (`decomposition`). Levels and lines are then fitted to the rest by discounted least
squares, with several half-lives. Residuals of the season are averaged by phase. All forecasts shift and scale with the
values, are smooth in time, and work on irregular times.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from fimjax.nn.classical.decomposition import decompose
from fimjax.nn.scaling import safe_sqrt

HALF_LIVES = (0.3, 2.0, 6.0, 20.0, 80.0)
"""Half-lives of an observation's weight in steps, from nearly the last value to nearly the whole history."""
MEMORIES = (1.0, 4.0)
"""Half-lives, in seasons, for the residuals of the season."""
PHASE_WIDTH, RIDGE_PHASE = 0.4, 0.3
"""Standard deviation in steps within which two phases count as the same, and the ridge of their means."""
RIDGE_LINE = 0.005
"""Ridge of the slope, in squares of the half-life or of the history's length, so that two points have a slope too."""
LEAST_REACH = 0.1
"""Smallest length of a history in that ridge, in steps."""
BOUND = 10.0
"""Forecasts are clipped to this many standard deviations of the series around its last value."""
LEAST_ERROR = 0.003
"""Smallest error scale, in standard deviations of the series."""


class Smoothed(NamedTuple):
    """Baseline forecasts of B series at Q times."""

    forecasts: jax.Array  # [B, Q, G]: level and line of each half-life, plus the season
    seasonal_residuals: jax.Array  # [B, Q, len(MEMORIES)], residuals of the season that may have to be added
    error_scale: jax.Array  # [B, Q], typical error of a naive forecast
    scale_features: jax.Array  # [B, 3], logarithms of the sizes of steps, season and deviations from a line


def smooth(values: jax.Array, steps: jax.Array, mask: jax.Array, season: jax.Array, query_steps: jax.Array) -> Smoothed:
    """Forecasts of all smoothers.

    Args:
        values, steps, mask: [B, N], values standardised, steps relative to the last observation (0, -1, ...).
        season: [B], in steps; 1 = none or unknown.
        query_steps: [B, Q], steps after the last observation.
    """
    values, steps, mask = sort_by_time(values, steps, mask)
    last = _last_value(values, mask)
    values = jnp.where(mask, values - last[:, None], 0.0)
    slow, past, future = decompose(values, steps, mask, season, query_steps)
    level, residuals = (jnp.where(mask, values - part, 0.0) for part in (past, past + slow))
    fits = [discounted_fit(level, steps, mask, half_life, query_steps) for half_life in HALF_LIVES]
    forecasts = jnp.concatenate(fits, axis=-1) + future[..., None]
    step_size = mean_step(level, steps, mask)
    longest_line = discounted_fit(level, steps, mask, HALF_LIVES[-1], steps)[..., 1]
    sizes = [step_size, _mean(jnp.abs(past), mask), _mean(jnp.abs(level - longest_line), mask)]
    return Smoothed(
        forecasts=last[:, None, None] + jnp.clip(forecasts, -BOUND, BOUND),
        seasonal_residuals=same_phase_means(residuals, steps, mask, season, query_steps),
        error_scale=(LEAST_ERROR + step_size)[:, None] * jnp.sqrt(1.0 + jnp.maximum(query_steps, 0.0)),
        scale_features=jnp.log(LEAST_ERROR + jnp.stack(sizes, axis=-1)),
    )


def sort_by_time(values: jax.Array, steps: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The same arrays [B, N] in the order of time, with unobserved points last."""
    order = jnp.argsort(jnp.where(mask, steps, 1.0), axis=-1)
    take = lambda x: jnp.take_along_axis(x, order, axis=-1)
    return take(values), take(steps), take(mask)


def same_phase_means(
    residuals: jax.Array, steps: jax.Array, mask: jax.Array, season: jax.Array, query_steps: jax.Array
) -> jax.Array:
    """Discounted means of the residuals [B, N] at the phases of the query times: [B, Q, len(MEMORIES)]."""
    length = season.astype(jnp.float32)[:, None, None]
    distance = jnp.mod(query_steps[:, :, None] - steps[:, None, :] + length / 2, length) - length / 2
    near = jnp.where(mask[:, None, :] & (length > 1), jnp.exp(-0.5 * (distance / PHASE_WIDTH) ** 2), 0.0)

    def mean(memory: float) -> jax.Array:
        weights = near * 2.0 ** (steps[:, None, :] / (memory * length))
        total = jnp.sum(weights * residuals[:, None, :], axis=-1)
        return total / (jnp.sum(weights, axis=-1) + RIDGE_PHASE)

    return jnp.stack([mean(memory) for memory in MEMORIES], axis=-1)


def discounted_fit(
    values: jax.Array, steps: jax.Array, mask: jax.Array, half_life: float, query_steps: jax.Array
) -> jax.Array:
    """The discounted level and the discounted line of a half-life at the query times [B, Q]: [B, Q, 2]."""
    newest = jnp.max(jnp.where(mask, steps, -jnp.inf), axis=-1, keepdims=True)
    weights = jnp.where(mask, 2.0 ** (jnp.where(mask, steps - newest, 0.0) / half_life), 0.0)
    weights = weights / jnp.maximum(jnp.sum(weights, axis=-1, keepdims=True), 1.0)
    mean = lambda x: jnp.sum(weights * x, axis=-1, keepdims=True)
    centre, level = mean(steps), mean(values)
    u = steps - centre
    reach = jnp.minimum(newest - jnp.min(jnp.where(mask, steps, jnp.inf), axis=-1, keepdims=True), half_life)
    slope = mean(u * (values - level)) / (mean(u**2) + RIDGE_LINE * jnp.maximum(reach, LEAST_REACH) ** 2)
    line = level + slope * (query_steps - centre)
    return jnp.stack([jnp.broadcast_to(level, line.shape), line], axis=-1)


def mean_step(values: jax.Array, steps: jax.Array, mask: jax.Array) -> jax.Array:
    """Mean absolute change per step of values [B, N] in order of time, scaled as for a random walk: [B]."""
    gap = jnp.maximum(steps[:, 1:] - steps[:, :-1], 0.1)
    return _mean(jnp.abs(values[:, 1:] - values[:, :-1]) / safe_sqrt(gap), mask[:, 1:])


def _last_value(values: jax.Array, mask: jax.Array) -> jax.Array:
    """The last observed one of sorted values [B, N]; zero if there is none."""
    index = jnp.maximum(jnp.sum(mask, axis=-1, keepdims=True) - 1, 0)
    return jnp.where(jnp.any(mask, axis=-1), jnp.take_along_axis(values, index, axis=-1)[:, 0], 0.0)


def _mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(mask, x, 0.0), axis=-1) / jnp.maximum(jnp.sum(mask, axis=-1), 1)
