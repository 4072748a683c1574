"""Output heads: one value, or quantiles that cannot cross."""

import jax
import jax.numpy as jnp


def head_size(levels: tuple[float, ...]) -> int:
    """Number of outputs of the last layer at each query time."""
    return max(1, len(levels))


def median_index(levels: tuple[float, ...]) -> int:
    """Index of the point forecast: the level nearest to one half, or 0 for a single value."""
    distances = [abs(level - 0.5) for level in levels] or [0.0]
    return distances.index(min(distances))


def apply_quantile_head(raw: jax.Array, levels: tuple[float, ...]) -> jax.Array:
    """Turns the outputs of the last layer into a value or into rising quantiles.

    The median is the raw output. Every other quantile is its inner neighbour plus or minus a softplus. The sums are
    taken one after the other, so that rounding cannot make two quantiles cross.

    Args:
        raw: [..., L].
        levels: the quantile levels, or () for a value.

    Returns:
        [..., L], not falling along the last axis.
    """
    if not levels:
        return raw
    middle = median_index(levels)
    columns = [raw[..., i] for i in range(len(levels))]
    for i in range(middle + 1, len(levels)):
        columns[i] = columns[i - 1] + jax.nn.softplus(columns[i])
    for i in range(middle - 1, -1, -1):
        columns[i] = columns[i + 1] - jax.nn.softplus(columns[i])
    return jnp.stack(columns, axis=-1)
