"""What anybody would do without a model, for validation to compare with."""

import jax
import jax.numpy as jnp

from fimjax.nn.windows import Windows


def interpolate_linearly(values: jax.Array, times: jax.Array, mask: jax.Array, query_times: jax.Array) -> jax.Array:
    """Straight lines between the observations, the first and the last held on: [B, T] and [B, Q] -> [B, Q]."""

    def one(values, times, mask, query_times):
        order = jnp.argsort(jnp.where(mask, times, jnp.inf))
        values, times, mask = values[order], times[order], mask[order]
        last = jnp.maximum(jnp.sum(mask) - 1, 0)
        # Unobserved points repeat the last observed one, so that they add nothing.
        values = jnp.where(mask, values, values[last])
        times = jnp.where(mask, times, times[last])
        return jnp.interp(query_times, times, values)

    return jax.vmap(one)(values, times, mask, query_times)


def repeat_last_window(past: Windows, query_times: jax.Array) -> jax.Array:
    """What the series was one window earlier, read off its past by straight lines: [B, Q] -> [B, Q]."""
    return interpolate_linearly(*_whole(past), query_times - past.duration[:, None])


def repeat_last_value(past: Windows, query_times: jax.Array) -> jax.Array:
    """The newest observation, held on: [B, Q] -> [B, Q]."""
    newest = jnp.full_like(query_times, jnp.inf)
    return interpolate_linearly(*_whole(past), newest)


def _whole(past: Windows) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Values, times and mask of all windows together, [B, W * T]."""
    return tuple(x.reshape(x.shape[0], -1) for x in (past.values, past.times, past.mask))
