"""The windows of a series that every model reads, and their statistics."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import struct

from fimjax.nn.scaling import Affine, fit_moments, fit_range, zero_unobserved
from fimjax.nn.season import SeasonPhase


class Windows(struct.PyTreeNode):
    """The past of B series, cut into W windows of equal duration with T slots each, oldest first.

    The content of a slot whose mask is False is never read.
    """

    values: jax.Array  # [B, W, T]
    times: jax.Array  # [B, W, T]
    mask: jax.Array  # [B, W, T], True = observed
    origin: jax.Array  # [B], the time at which the unseen window begins
    duration: jax.Array  # [B], how long a window lasts, in the unit of the times
    steps: jax.Array  # [B], regular steps in a window
    season: jax.Array  # [B], season length in steps; 1 = none or unknown
    floor: jax.Array | None = None  # [B], lower bound of the values; -inf, or None for all series, if it is unknown

    def with_zeros_in_gaps(self) -> "Windows":
        """Zeros in the slots without an observation, because a NaN there would reach the gradient."""
        return self.replace(
            values=zero_unobserved(self.values, self.mask), times=zero_unobserved(self.times, self.mask)
        )

    def value_map(self) -> Affine:
        """Scales the values of each series to mean 0 and standard deviation 1 over all observations."""
        return fit_moments(self.values, self.mask, axes=(-2, -1))

    def time_map(self) -> Affine:
        """Time in windows since the forecast origin: the seen windows end at 0, the unseen one ends at 1."""
        return Affine(self.origin, self.duration)

    def target_map(self) -> Affine:
        """Maps the unseen window to the unit interval, from its first step to its last."""
        step = self.duration / self.steps.astype(jnp.float32)
        several = self.steps > 1
        return Affine(self.origin + jnp.where(several, step, 0.0), self.duration - jnp.where(several, step, 0.0))

    def season_phase(self) -> SeasonPhase:
        """The season's phase as a function of time in windows since the forecast origin."""
        return SeasonPhase(jnp.zeros_like(self.duration), 1 / self.steps.astype(jnp.float32), self.season)


def split_windows(
    times: jax.Array,
    values: jax.Array,
    mask: jax.Array,
    *,
    steps: jax.Array,
    step: jax.Array,
    season: jax.Array,
    windows: int,
    slots: int,
    floor: jax.Array | None = None,
) -> Windows:
    """Cuts the end of each series into windows, the last of which ends at the last observation.

    Older points are left out. A window with more points than slots keeps an evenly spread part of them. In the last
    window that is the newest point of each slot, in the window before it the second newest, and so on in turns. So
    every phase of a season is read in some window, and the last observation is always kept.

    Args:
        times, values, mask: [B, N], in any order.
        steps: [B], regular steps that each window lasts, at least the horizon.
        step: [B], time between two regular steps.
        season: [B], season length in steps, 1 = none or unknown.
        windows: W, number of windows; slots: T, room in each.
        floor: [B], lower bound of the values, -inf if it is unknown; None if all are unknown.
    """
    order = jnp.argsort(jnp.where(mask, times, jnp.inf), axis=-1)
    times, values, mask = (jnp.take_along_axis(x, order, axis=-1) for x in (times, values, mask))
    origin = jnp.max(jnp.where(mask, times, -jnp.inf), axis=-1)
    origin = jnp.where(jnp.any(mask, axis=-1), origin, 0.0)
    duration = steps.astype(jnp.float32) * step

    # Half a step of slack keeps a point that lies on the border between two windows from rounding into the wrong one.
    age = (origin[:, None] - times + 0.5 * step[:, None]) / duration[:, None]
    window = windows - 1 - jnp.floor(jnp.where(mask, age, windows)).astype(jnp.int32)  # [B, N]
    member = (window[..., None] == jnp.arange(windows)[None, None, :]) & mask[..., None]  # [B, N, W]
    member = member.astype(jnp.int32)
    count = jnp.sum(member * jnp.sum(member, axis=1, keepdims=True), axis=-1)  # [B, N], points in the same window
    rank = jnp.sum(member * (jnp.cumsum(member, axis=1) - 1), axis=-1)
    crowded = count > slots
    slot = jnp.where(crowded, (rank * slots) // jnp.maximum(count, 1), rank)
    first, next_first = (-((-s * count) // slots) for s in (slot, slot + 1))  # ranks that share the slot
    size = jnp.maximum(next_first - first, 1)
    stays = ~crowded | (rank - first == (window - windows) % size)
    slot = jnp.where((window >= 0) & stays, slot, slots)  # `slots` is out of range: dropped

    def place(x: jax.Array) -> jax.Array:
        empty = jnp.zeros((windows, slots), x.dtype)
        scatter = jax.vmap(lambda w, s, v: empty.at[w, s].set(v, mode="drop"))
        return scatter(jnp.maximum(window, 0), slot, x)

    return Windows(place(values), place(times), place(mask), origin, duration, steps, season, floor)


def window_statistics(values: jax.Array, times: jax.Array, mask: jax.Array, clip: float = 10.0) -> jax.Array:
    """The nine statistics of a window's level, range and duration (s_l in the report), from its observed points.

    They are: minimum, maximum and range of the values; first, last and last - first value; first, last and
    last - first time. First and last go by time, so the order of the slots does not matter.

    Args:
        values, times, mask: [..., T], already in the units of the series.
        clip: bound on each statistic of the values, so that an outlier cannot swamp the embedding.

    Returns:
        [..., 9]; zeros for a window without observations.
    """
    value_range, time_range = fit_range(values, mask), fit_range(times, mask)
    first = _value_at(jnp.where(mask, times, jnp.inf), values, jnp.argmin)
    last = _value_at(jnp.where(mask, times, -jnp.inf), values, jnp.argmax)
    low, low_time = value_range.shift, time_range.shift
    of_values = [low, low + value_range.scale, value_range.scale, first, last, last - first]
    of_times = [low_time, low_time + time_range.scale, time_range.scale]
    statistics = jnp.stack([jnp.clip(x, -clip, clip) for x in of_values] + of_times, axis=-1)
    return jnp.where(jnp.any(mask, axis=-1, keepdims=True), statistics, 0.0)


def _value_at(times: jax.Array, values: jax.Array, pick: Callable[..., jax.Array]) -> jax.Array:
    """The value at the slot whose time is picked (argmin or argmax)."""
    slot = pick(times, axis=-1, keepdims=True)
    return jnp.take_along_axis(values, slot, axis=-1)[..., 0]
