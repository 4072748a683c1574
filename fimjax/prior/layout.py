"""Where the windows of a series lie in its simulated steps, and at what times its steps are observed.

Of N simulated steps, the last w are the target window and the (W - 1) w before it the context, so that short windows
show a process that has been running for long. A window (start, start + w] holds the steps start + 1 to start + w.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import random

from fimjax.config import PriorConfig, WindowConfig
from fimjax.prior.distributions import log_uniform, uniform, uniform_numbers

MAX_JITTER = 0.45
"""Irregular times lie within this distance of their step, so they keep their order."""
LONG_SEASON = 13
"""Horizons that match a longer season are shorter relative to it."""
MAX_STEPS_WITHOUT_SEASON = 16
"""Longest horizon that matches a series without a season."""


class Layout(NamedTuple):
    """The geometry of one series."""

    window_steps: jax.Array  # w
    history: jax.Array  # steps of context that exist, 1 .. (W - 1) w
    season: jax.Array  # 1 = none
    times: jax.Array  # [N], in steps

    def exists(self) -> jax.Array:
        """True [N] for the steps of the history and the target."""
        n = self.times.shape[0]
        return jnp.arange(n) >= n - self.window_steps - self.history

    def origin(self) -> jax.Array:
        """Time of the last step before the target window."""
        return (self.times.shape[0] - 1 - self.window_steps).astype(jnp.float32)


class Slots(NamedTuple):
    """The step that each slot of each window holds."""

    steps: jax.Array  # [W, T], in 0 .. N - 1
    valid: jax.Array  # [W, T], True where the slot holds a step of the history or the target


def draw_layout(
    key: jax.Array, is_continuous: jax.Array, seasons: jax.Array, config: PriorConfig, windows: WindowConfig
) -> Layout:
    """Draw a season, then window length and history log-uniform; jitter the times of a share of the continuous series.

    Args:
      key: a typed key.
      is_continuous: whether the family is defined at any time.
      seasons: [S], season lengths of equal probability, followed by zeros.
      config: the prior.
      windows: the windows.
    """
    n = windows.total_steps
    (length, draws_short, history_u, season_u, draws_irregular, draws_matched), jitter_u_N = uniform_numbers(
        key, (6,), (n,)
    )
    season = seasons[jnp.floor(season_u * jnp.sum(seasons > 0)).astype(jnp.int32)]
    low, high = _window_bounds(season, draws_matched < config.matched_windows, windows)
    window_steps = _log_uniform_integer(length, low, high)

    full_history = (windows.count - 1) * window_steps
    short_history = _log_uniform_integer(history_u, jnp.minimum(windows.min_history, full_history), full_history)
    history = jnp.where(draws_short < config.short_history, short_history, full_history)

    times_N = jnp.arange(n, dtype=jnp.float32)
    is_irregular = is_continuous & (draws_irregular < config.irregular)
    times_N = jnp.where(is_irregular, times_N + jitter(jitter_u_N, window_steps), times_N)
    return Layout(window_steps, history, season, times_N)


def _window_bounds(season: jax.Array, is_matched: jax.Array, windows: WindowConfig) -> tuple[jax.Array, jax.Array]:
    """Shortest and longest window in steps.

    A window that matches the season lasts half a season to three seasons (long seasons: a quarter to three), or up to
    MAX_STEPS_WITHOUT_SEASON without a season, because forecasts are mostly wanted for such horizons.
    """
    shortest, longest = windows.min_steps, windows.max_steps
    matched_low = jnp.where(season > LONG_SEASON, season // 4, season // 2)
    matched_high = jnp.where(season > 1, 3 * season, MAX_STEPS_WITHOUT_SEASON)
    low = jnp.where(is_matched, matched_low.clip(shortest, longest), shortest)
    high = jnp.where(is_matched, matched_high.clip(shortest, longest), longest)
    return low, high


def _log_uniform_integer(u: jax.Array, low: int | jax.Array, high: int | jax.Array) -> jax.Array:
    drawn = jnp.floor(log_uniform(u, low, high + 1.0)).astype(jnp.int32)
    return jnp.clip(drawn, low, high)


def jitter(u_N: jax.Array, window_steps: jax.Array) -> jax.Array:
    """Shift [N] of each step's time; the last step of a window is never late, so it stays in its window."""
    n = u_N.shape[0]
    shift_N = uniform(u_N, -MAX_JITTER, MAX_JITTER)
    ends_window_N = (n - 1 - jnp.arange(n)) % window_steps == 0
    return jnp.where(ends_window_N, jnp.minimum(shift_N, 0.0), shift_N)


def assign_slots(key: jax.Array, layout: Layout, windows: WindowConfig) -> Slots:
    """One slot for each step; a window with more steps than slots gets one random step of each of T equal strata."""
    count, slots = windows.count, windows.slots
    w, n = layout.window_steps, layout.times.shape[0]
    slot_T = jnp.arange(slots)
    if windows.max_steps <= slots:
        position_WT = jnp.broadcast_to(slot_T, (count, slots))
    else:
        first_T, next_T = slot_T * w // slots, (slot_T + 1) * w // slots
        u_WT = random.uniform(key, (count, slots))
        drawn_WT = first_T[None, :] + jnp.floor(u_WT * (next_T - first_T)[None, :]).astype(jnp.int32)
        drawn_WT = drawn_WT.at[:, -1].set(w - 1)  # the newest step says most about the next one
        position_WT = jnp.where(w > slots, drawn_WT, slot_T[None, :])
    first_W = n - (count - jnp.arange(count)) * w
    steps_WT = jnp.minimum(first_W[:, None] + position_WT, n - 1)
    return Slots(steps_WT, (position_WT < w) & layout.exists()[steps_WT])
