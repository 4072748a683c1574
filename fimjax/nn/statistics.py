"""The nine local-scale statistics of a window (s_l in the report)."""

import jax
import jax.numpy as jnp

from fimjax.nn.scaling import fit_range


def window_statistics(values: jax.Array, times: jax.Array, mask: jax.Array, clip: float = 10.0) -> jax.Array:
    """Where a window lies and how wide it is, from its observed points.

    In the report's order: minimum, maximum and range of the values; first, last and last - first value; first, last
    and last - first time. First and last go by time, not by slot, so that the order of the points does not matter.

    Args:
        values, times, mask: [..., T], already in the units of the series.
        clip: bound on each statistic of the values, so that an outlier cannot swamp the embedding.

    Returns:
        [..., 9]; zeros for a window without observations.
    """
    span = fit_range(values, mask)
    period = fit_range(times, mask)
    first = _value_at(jnp.where(mask, times, jnp.inf), values, jnp.argmin)
    last = _value_at(jnp.where(mask, times, -jnp.inf), values, jnp.argmax)
    of_values = [span.shift, span.shift + span.scale, span.scale, first, last, last - first]
    of_times = [period.shift, period.shift + period.scale, period.scale]
    statistics = jnp.stack([jnp.clip(x, -clip, clip) for x in of_values] + of_times, axis=-1)
    return jnp.where(jnp.any(mask, axis=-1, keepdims=True), statistics, 0.0)


def _value_at(times: jax.Array, values: jax.Array, pick) -> jax.Array:
    slot = pick(times, axis=-1, keepdims=True)
    return jnp.take_along_axis(values, slot, axis=-1)[..., 0]
