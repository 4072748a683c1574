"""The regular view of a series, for networks that know steps and not times."""

import jax
import jax.numpy as jnp
from flax import struct

from fimjax.nn.scaling import Affine, fit_moments, zero_unobserved
from fimjax.nn.windows import Windows


@struct.dataclass
class Grid:
    """C steps of B series up to the last observation, oldest first, and what is known of the H steps after it.

    Steps before a history begins are like any others at which nothing was observed: zero, and masked.
    """

    values: jax.Array  # [B, C], in units of the series (mean 0, deviation 1), zero where nothing was observed
    mask: jax.Array  # [B, C], True = observed
    phases: jax.Array  # [B, C, F], of the season; F = 0 if the model uses none
    ahead: jax.Array  # [B, H, F], of the season, in the steps to come
    last: jax.Array  # [B], the newest observation, in units of the series
    value_map: Affine  # [B], from the series to these units
    step_map: Affine  # [B], from time to steps since the last observation

    def answer(self, steps: jax.Array, query_times: jax.Array) -> jax.Array:
        """What is told of whole steps [B, H, L], at any times [B, Q] after the last observation: [B, Q, L].

        Between two steps it lies on the line between them, the last observation being step zero; and what is sorted
        stays sorted. In the units of the series as it came.
        """
        known = jnp.broadcast_to(self.last[:, None, None], (*steps.shape[:1], 1, *steps.shape[2:]))
        table = jnp.concatenate([known, steps], axis=1)
        place = jnp.clip(self.step_map.normalise(query_times), 0.0, steps.shape[1])
        before = jnp.clip(jnp.ceil(place) - 1, 0, steps.shape[1] - 1)
        share = (place - before)[..., None]
        take = lambda index: jnp.take_along_axis(table, index.astype(jnp.int32)[..., None], axis=1)
        return self.value_map.invert((1 - share) * take(before) + share * take(before + 1))


def lay_on_grid(windows: Windows, context: int, horizon: int, harmonics: int) -> Grid:
    """Puts each observation on the regular step next to it; several on one step become their mean.

    Args:
        context: C, steps that are kept; older observations are left out, but for their part in the series' units.
        horizon: H; harmonics: of the season's phase, 0 for no phases.
    """
    windows = windows.with_zeros_in_gaps()
    value_map = fit_moments(windows.values, windows.mask, axes=(-2, -1))
    step_map = Affine(windows.origin, windows.duration / windows.steps.astype(jnp.float32))
    flat = lambda x: x.reshape(x.shape[0], -1)
    values, mask = flat(value_map.normalise(windows.values)), flat(windows.mask)
    steps = flat(step_map.normalise(windows.times))  # up to 0
    place = context - 1 + jnp.round(steps).astype(jnp.int32)
    place = jnp.where(mask & (place >= 0), place, context)  # `context` is out of range: dropped

    def gather(x: jax.Array) -> jax.Array:
        return jax.vmap(lambda p, v: jnp.zeros(context, x.dtype).at[p].add(v, mode="drop"))(place, x)

    count, total = gather(mask.astype(jnp.float32)), gather(zero_unobserved(values, mask))
    newest = jnp.argmax(jnp.where(mask, steps, -jnp.inf), axis=-1)
    return Grid(
        values=total / jnp.maximum(count, 1.0),
        mask=count > 0,
        phases=_phases(windows, jnp.arange(1 - context, 1), harmonics),
        ahead=_phases(windows, jnp.arange(1, horizon + 1), harmonics),
        last=jnp.take_along_axis(zero_unobserved(values, mask), newest[:, None], axis=-1)[:, 0],
        value_map=value_map,
        step_map=step_map,
    )


def _phases(windows: Windows, steps: jax.Array, harmonics: int) -> jax.Array:
    """Phases of the season at whole steps [S] since the last observation: [B, S, F]."""
    batch = windows.origin.shape[0]
    if not harmonics:
        return jnp.zeros((batch, len(steps), 0))
    in_windows = steps.astype(jnp.float32)[None] / windows.steps.astype(jnp.float32)[:, None]
    return windows.season_phase().features(in_windows, harmonics)
