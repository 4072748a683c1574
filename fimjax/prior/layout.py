"""Where the windows of a series lie in its simulated steps, and when its steps are observed.

Of N simulated steps, the last w are the target window and the (K - 1) w before it the context, so that short windows
see a process that has long been running. A window (start, start + w] holds steps start + 1 to start + w.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import random

from fimjax.config import PriorConfig
from fimjax.prior.distributions import log_uniform, uniform

MAX_JITTER = 0.45
"""Irregular times lie within this of their step, hence keep their order."""

LONG_SEASON, FEW_STEPS = 13, 16
"""Above the one a season is seldom asked for as a whole; the other is the most that is asked for without a season."""


class Layout(NamedTuple):
    """The geometry of one series."""

    window_steps: jax.Array  # w
    history: jax.Array  # steps of context that exist, 1 .. (K - 1) w
    season: jax.Array  # 1 = none
    times: jax.Array  # [N], in steps


class Slots(NamedTuple):
    """The step that each slot of each window holds."""

    steps: jax.Array  # [K, T], in 0 .. N - 1
    valid: jax.Array  # [K, T], True where the slot holds a step of the history or the target


def _log_uniform_integer(u: jax.Array, low: int | jax.Array, high: int | jax.Array) -> jax.Array:
    drawn = jnp.floor(log_uniform(u, low, high + 1.0)).astype(jnp.int32)
    return jnp.clip(drawn, low, high)


def jitter(numbers_N: jax.Array, window_steps: jax.Array) -> jax.Array:
    """Shift [N] of each step's time; the last step of a window is never late, so it stays in its window."""
    n = numbers_N.shape[0]
    shift_N = uniform(numbers_N, -MAX_JITTER, MAX_JITTER)
    ends_window_N = (n - 1 - jnp.arange(n)) % window_steps == 0
    return jnp.where(ends_window_N, jnp.minimum(shift_N, 0.0), shift_N)


def draw_layout(key: jax.Array, continuous: jax.Array, seasons: jax.Array, config: PriorConfig) -> Layout:
    """Season from the list, window length and history log-uniform, times jittered in a share of continuous series.

    Who has a season mostly asks for about as much: in a share of the series the window lasts half a season to three of
    them (long seasons: a quarter to two), or a few steps where there is none, within the bounds.

    Args:
        seasons: [S], season lengths of equal chance, and zeros after them.
    """
    numbers = random.uniform(key, (6 + config.total_steps,))
    length, is_short, cut, season, is_irregular, is_matched = numbers[:6]
    season = seasons[jnp.floor(season * jnp.sum(seasons > 0)).astype(jnp.int32)]
    shortest, longest = config.min_window_steps, config.max_window_steps
    is_matched = is_matched < config.matched_windows
    fewest = jnp.where(season > LONG_SEASON, season // 4, season // 2)
    most = jnp.where(season > 1, 3 * season, FEW_STEPS)
    window_steps = _log_uniform_integer(
        length,
        jnp.where(is_matched, fewest.clip(shortest, longest), shortest),
        jnp.where(is_matched, most.clip(shortest, longest), longest),
    )
    longest = (config.windows - 1) * window_steps
    shortest = jnp.minimum(config.min_context, longest)
    history = jnp.where(is_short < config.short_history, _log_uniform_integer(cut, shortest, longest), longest)
    times = jnp.arange(config.total_steps, dtype=jnp.float32)
    shift = jitter(numbers[6:], window_steps)
    times = jnp.where(continuous & (is_irregular < config.irregular), times + shift, times)
    return Layout(window_steps, history, season, times)


def exists(layout: Layout) -> jax.Array:
    """True [N] for the steps of the history and the target."""
    n = layout.times.shape[0]
    return jnp.arange(n) >= n - layout.window_steps - layout.history


def origin(layout: Layout) -> jax.Array:
    """Time of the last step before the target window."""
    return (layout.times.shape[0] - 1 - layout.window_steps).astype(jnp.float32)


def assign_slots(key: jax.Array, layout: Layout, config: PriorConfig) -> Slots:
    """One slot a step; windows of more steps than slots get one step out of each of T equal strata."""
    w, slots = layout.window_steps, config.slots
    slot_T = jnp.arange(slots)
    if config.max_window_steps <= slots:
        position_KT = jnp.broadcast_to(slot_T, (config.windows, slots))
    else:
        first_T, next_T = slot_T * w // slots, (slot_T + 1) * w // slots
        u_KT = random.uniform(key, (config.windows, slots))
        drawn_KT = first_T[None, :] + jnp.floor(u_KT * (next_T - first_T)[None, :]).astype(jnp.int32)
        drawn_KT = drawn_KT.at[:, -1].set(w - 1)  # the newest step says most about the next
        position_KT = jnp.where(w > slots, drawn_KT, slot_T[None, :])
    first_K = layout.times.shape[0] - (config.windows - jnp.arange(config.windows)) * w
    steps_KT = jnp.minimum(first_K[:, None] + position_KT, layout.times.shape[0] - 1)
    return Slots(steps_KT, (position_KT < w) & exists(layout)[steps_KT])
