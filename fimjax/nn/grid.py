"""Series on a regular grid of steps, as N-BEATS, MQCNN, PatchTST and Chronos-Bolt read them."""

import jax
import jax.numpy as jnp
from flax import struct

from fimjax.nn.scaling import Affine, fit_moments, zero_unobserved
from fimjax.nn.windows import Windows


class Grid(struct.PyTreeNode):
    """The last C steps of B series, oldest first, and the season's phases in the H steps that follow.

    Steps before the first observation are like all other unobserved steps: zero, and masked.
    """

    values: jax.Array  # [B, C], scaled to mean 0 and standard deviation 1, zero at unobserved steps
    mask: jax.Array  # [B, C], True = observed
    phases: jax.Array  # [B, C, F], features of the season's phase; F = 0 if the model uses none
    future_phases: jax.Array  # [B, H, F], the same in the steps to forecast
    last_value: jax.Array  # [B], the newest observation, scaled like the values
    value_map: Affine  # [B], from the units of the series to the scaled values
    step_map: Affine  # [B], from time to steps since the last observation

    def read_at(self, forecasts: jax.Array, query_times: jax.Array) -> jax.Array:
        """Reads forecasts of whole steps at any times after the last observation, by linear interpolation.

        Step zero is the last observation. Times beyond the horizon get the forecast of its last step. Sorted
        quantiles stay sorted.

        Args:
            forecasts: [B, H, L], scaled like the values.
            query_times: [B, Q].

        Returns:
            [B, Q, L], in the units of the series.
        """
        horizon = forecasts.shape[1]
        last = jnp.broadcast_to(self.last_value[:, None, None], (*forecasts.shape[:1], 1, *forecasts.shape[2:]))
        table = jnp.concatenate([last, forecasts], axis=1)
        position = jnp.clip(self.step_map.normalise(query_times), 0.0, horizon)
        left = jnp.clip(jnp.ceil(position) - 1, 0, horizon - 1)
        weight = (position - left)[..., None]
        take = lambda index: jnp.take_along_axis(table, index.astype(jnp.int32)[..., None], axis=1)
        return self.value_map.invert((1 - weight) * take(left) + weight * take(left + 1))


def to_regular_grid(windows: Windows, context: int, horizon: int, harmonics: int) -> Grid:
    """Moves each observation to the nearest regular step; several observations of one step become their mean.

    Args:
        windows: the past of B series.
        context: C, the number of steps to keep; older observations count only in the scale of the values.
        horizon: H, the number of steps to forecast.
        harmonics: harmonics of the season's phase; 0 for no phases.
    """
    windows = windows.with_zeros_in_gaps()
    value_map = fit_moments(windows.values, windows.mask, axes=(-2, -1))
    step_map = Affine(windows.origin, windows.duration / windows.steps.astype(jnp.float32))
    flatten = lambda x: x.reshape(x.shape[0], -1)
    values, mask = flatten(value_map.normalise(windows.values)), flatten(windows.mask)
    steps = flatten(step_map.normalise(windows.times))  # 0 at the last observation, negative before it
    index = context - 1 + jnp.round(steps).astype(jnp.int32)
    index = jnp.where(mask & (index >= 0), index, context)  # `context` is out of range: dropped

    def sum_per_step(x: jax.Array) -> jax.Array:
        return jax.vmap(lambda i, v: jnp.zeros(context, x.dtype).at[i].add(v, mode="drop"))(index, x)

    count, total = sum_per_step(mask.astype(jnp.float32)), sum_per_step(zero_unobserved(values, mask))
    newest = jnp.argmax(jnp.where(mask, steps, -jnp.inf), axis=-1)
    return Grid(
        values=total / jnp.maximum(count, 1.0),
        mask=count > 0,
        phases=_season_phases(windows, jnp.arange(1 - context, 1), harmonics),
        future_phases=_season_phases(windows, jnp.arange(1, horizon + 1), harmonics),
        last_value=jnp.take_along_axis(zero_unobserved(values, mask), newest[:, None], axis=-1)[:, 0],
        value_map=value_map,
        step_map=step_map,
    )


def _season_phases(windows: Windows, steps: jax.Array, harmonics: int) -> jax.Array:
    """Features of the season's phase at whole steps [S] since the last observation: [B, S, F]."""
    batch = windows.origin.shape[0]
    if not harmonics:
        return jnp.zeros((batch, len(steps), 0))
    times_in_windows = steps.astype(jnp.float32)[None] / windows.steps.astype(jnp.float32)[:, None]
    return windows.season_phase().features(times_in_windows, harmonics)
