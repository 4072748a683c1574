"""The windowed view of a series that every model reads."""

import jax
import jax.numpy as jnp
from flax import struct

from fimjax.nn.scaling import Affine, zero_unobserved
from fimjax.nn.season import SeasonPhase


@struct.dataclass
class Windows:
    """The past of B series, cut into W windows of equal duration with T slots each, oldest first.

    What stands in a slot whose mask is False is never read.
    """

    values: jax.Array  # [B, W, T]
    times: jax.Array  # [B, W, T]
    mask: jax.Array  # [B, W, T], True = observed
    origin: jax.Array  # [B], the time at which the unseen window begins
    duration: jax.Array  # [B], how long a window lasts, in the unit of the times
    steps: jax.Array  # [B], how many regular steps that is
    season: jax.Array  # [B], season length in steps; 1 = none or unknown
    floor: jax.Array | None = None  # [B], below which no value lies; -inf, or None for all of them, if it is unknown

    def with_zeros_in_gaps(self) -> "Windows":
        """Zeros in the slots without an observation: a NaN there would not reach an answer, but its gradient."""
        return self.replace(
            values=zero_unobserved(self.values, self.mask), times=zero_unobserved(self.times, self.mask)
        )

    def time_map(self) -> Affine:
        """Time in windows since the forecast origin: the seen ones end at 0, the unseen one at 1."""
        return Affine(self.origin, self.duration)

    def target_map(self) -> Affine:
        """The unit interval of the unseen window, from its first step to its last, as FIM-l knows seen windows."""
        step = self.duration / self.steps.astype(jnp.float32)
        several = self.steps > 1
        return Affine(self.origin + jnp.where(several, step, 0.0), self.duration - jnp.where(several, step, 0.0))

    def clock(self) -> SeasonPhase:
        """The season in windows since the forecast origin."""
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
    """Cuts the end of each series into windows that end at its last observation.

    Older points are left out. A window with more points than slots keeps an evenly spread part of them: the newest of
    each slot's points in the last window, the one before it in the window before, and so on in turns. So every phase
    of a season is seen in some window, and the last observation is never lost.

    Args:
        times, values, mask: [B, N], in any order.
        steps: [B], regular steps that each window lasts, at least the horizon.
        step: [B], time between two regular steps.
        season: [B], season length in steps, 1 = none or unknown.
        windows: W, how many windows; slots: T, room in each.
        floor: [B], below which no value lies, -inf if it is unknown; None for all unknown.
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
