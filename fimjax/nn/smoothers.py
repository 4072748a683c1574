"""Classical forecasts that an answer may start from: a season by regression, levels and lines by discounting.

Discounted least squares (Brown 1963) in two steps. A regression on slow waves and on harmonics of the season, whose
size may grow, tells the season; levels and lines are then fitted to what is left of the values, the older ones weighing
less by several half-lives. What the harmonics leave of a season is averaged over the same phases. All of it is linear
in the values, smooth in time and works on any times.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from fimjax.nn.scaling import safe_sqrt
from fimjax.nn.season import waves

HALF_LIVES = (0.3, 2.0, 6.0, 20.0, 80.0)
"""Steps in which an observation loses half of its weight, from nearly the last value to nearly all of them."""
HARMONICS, SLOW_WAVES = 6, 6
MEMORY, MEMORIES = 3.0, (1.0, 4.0)
"""Seasons in which an observation loses half of its weight for the season's harmonics, and for what they leave."""
PHASE_WIDTH, RIDGE_PHASE = 0.4, 0.3
"""Deviation, in steps, within which phases are the same, and what shrinks their means, in observations."""
RIDGE_LEVEL, RIDGE_WAVES, RIDGE_SEASON, RIDGE_GROWTH = 1e-3, 0.1, 0.5, 2.0
"""What shrinks each part of the regression, in observations."""
RIDGE_LINE = 0.005
"""Shrinks slopes a little, so that two points have an answer too: in squares of a half-life, or of the history."""
LEAST_REACH = 0.1
"""Of that history, in steps."""
MOST_GROWTH = 0.25
"""How far the growth of a season goes on, in spans of the history."""
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


def seasonal_parts(
    values: jax.Array, steps: jax.Array, mask: jax.Array, season: jax.Array, ahead: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Slow part and season of the history [B, N], and the season ahead [B, Q], by a discounted ridge regression."""
    span = jnp.maximum(-jnp.min(jnp.where(mask, steps, 0.0), axis=-1), 1.0)
    length = season.astype(jnp.float32)
    weights = jnp.where(mask, 2.0 ** (steps / (MEMORY * length)[:, None]), 0.0)
    seasonal, of_future = (_seasonal_features(s, span, season) for s in (steps, ahead))
    slow = _slow_features(steps, span, length)
    design = jnp.concatenate([slow, seasonal], axis=-1)  # [B, N, F]
    weighted = design * weights[..., None]
    products = jnp.einsum("bnf,bng->bfg", weighted, design, precision="highest")
    targets = jnp.einsum("bnf,bn->bf", weighted, values, precision="highest")
    ridge = jnp.concatenate(
        [jnp.full(n, size) for n, size in zip(_PARTS, (RIDGE_LEVEL, RIDGE_WAVES, RIDGE_SEASON, RIDGE_GROWTH))]
    )
    found = solve(products + jnp.diag(ridge)[None], targets)
    read = lambda features, part: jnp.einsum("bnf,bf->bn", features, part, precision="highest")
    of_slow, of_season = found[:, : slow.shape[-1]], found[:, slow.shape[-1] :]
    return read(slow, of_slow), read(seasonal, of_season), read(of_future, of_season)


def solve(matrices: jax.Array, targets: jax.Array) -> jax.Array:
    """Solutions [B, F] of positive definite systems [B, F, F], [B, F], by elimination.

    Written out, for LAPACK's are calls that several devices of one processor wait for each other in.
    """

    def eliminate(k: int, system: jax.Array) -> jax.Array:
        row = system[:, k] / system[:, k, k][:, None]
        rest = system - system[:, :, k][:, :, None] * row[:, None, :]
        return rest.at[:, k].set(row)

    system = jnp.concatenate([matrices, targets[..., None]], axis=-1)
    return jax.lax.fori_loop(0, targets.shape[-1], eliminate, system)[..., -1]


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


_PARTS = (2, SLOW_WAVES, 2 * HARMONICS, 2 * HARMONICS)


def _slow_features(steps: jax.Array, span: jax.Array, length: jax.Array) -> jax.Array:
    """A line, and waves of up to SLOW_WAVES half turns in the span, as far as they are slower than half the season."""
    u = (steps / span[:, None])[..., None]
    k = jnp.arange(1, SLOW_WAVES + 1, dtype=jnp.float32).reshape(1, 1, -1)
    is_slow = k * length[:, None, None] < span[:, None, None]
    return jnp.concatenate([jnp.ones_like(u), u, jnp.cos(jnp.pi * k * u) * is_slow], axis=-1)


def _seasonal_features(steps: jax.Array, span: jax.Array, season: jax.Array) -> jax.Array:
    """Harmonics of the season up to half a turn a step, and the same growing with time."""
    length = season.astype(jnp.float32)[:, None]
    harmonics = waves(jnp.mod(steps, length) / length, HARMONICS)
    k = jnp.tile(jnp.arange(1, HARMONICS + 1), 2).reshape(1, 1, -1)
    harmonics = harmonics * (2 * k <= season[:, None, None])
    growth = jnp.minimum(1.0 + steps / span[:, None], 1.0 + MOST_GROWTH)
    return jnp.concatenate([harmonics, harmonics * growth[..., None]], axis=-1)


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
