"""Missing observations: at random, in runs, or all but every second, third or fourth step."""

import jax
import jax.numpy as jnp

from fimjax.config import PriorConfig
from fimjax.prior.distributions import uniform, uniform_numbers

STRIDES = (2, 3, 4)
RUN_SHARE, STRIDE_SHARE = 0.25, 0.35
"""Shares of runs and of strides among series with missing observations; in the others, single steps are missing."""
MIN_OBSERVED = 2
"""Fewest observations in the latest context window and in the target."""


def draw_observed(key: jax.Array, slot_steps_WT: jax.Array, window_slots: jax.Array, config: PriorConfig) -> jax.Array:
    """True [W, T] where a slot is observed.

    Args:
      key: a typed key.
      slot_steps_WT: the step that each slot holds.
      window_slots: slots of a window that are in use.
      config: reads `missing` and `max_missing`.
    """
    windows, slots = slot_steps_WT.shape
    (draws_missing, kind, rate, stride, offset), start_u_W, length_u_W, missing_u_WT = uniform_numbers(
        key, (5,), (windows,), (windows,), (windows, slots)
    )
    observed_WT = missing_u_WT >= rate * config.max_missing

    # A run may begin before its window or end after it.
    length_W = length_u_W * config.max_missing
    start_W = uniform(start_u_W, -length_W, 1.0)
    position_1T = jnp.arange(slots)[None, :] / window_slots
    in_run_WT = (position_1T >= start_W[:, None]) & (position_1T < (start_W + length_W)[:, None])
    observed_WT = jnp.where(kind < RUN_SHARE, ~in_run_WT, observed_WT)

    # A stride of s leaves out 1 - 1 / s of the steps, which must not exceed max_missing.
    strides = [s for s in STRIDES if 1 - 1 / s <= config.max_missing]
    if strides:
        stride = jnp.array(strides)[jnp.floor(stride * len(strides)).astype(jnp.int32)]
        on_stride_WT = (slot_steps_WT + jnp.floor(offset * stride).astype(jnp.int32)) % stride == 0
        observed_WT = jnp.where(kind >= 1.0 - STRIDE_SHARE, on_stride_WT, observed_WT)
    return observed_WT | (draws_missing >= config.missing)


def ensure_observed(observed_WT: jax.Array, valid_WT: jax.Array) -> jax.Array:
    """Restrict to valid slots, and observe the last two of the latest context window and of the target if fewer are."""
    valid_from_here_WT = jnp.cumsum(valid_WT[:, ::-1], axis=1)[:, ::-1]
    is_last_WT = valid_WT & (valid_from_here_WT <= MIN_OBSERVED)
    has_too_few_W = jnp.sum(observed_WT & valid_WT, axis=1) < MIN_OBSERVED
    is_latest_W = jnp.arange(valid_WT.shape[0]) >= valid_WT.shape[0] - 2
    return (observed_WT & valid_WT) | (is_last_WT & (has_too_few_W & is_latest_W)[:, None])
