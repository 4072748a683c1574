"""Affine maps that scale values and times for the networks, fitted on observed points only.

One map serves inputs, targets, query times and the inverse. So a forecast scales and shifts with its series and with
the time axis.
"""

import jax
import jax.numpy as jnp
from flax import struct


class Affine(struct.PyTreeNode):
    """x -> (x - shift) / scale, one shift and one scale for each leading index.

    A scale of zero stands for constant data: normalising gives zeros, and inverting gives back the constant whatever
    the network's output is.
    """

    shift: jax.Array  # [...]
    scale: jax.Array  # [...], not negative

    def normalise(self, x: jax.Array) -> jax.Array:
        """Applies the map."""
        divisor = jnp.where(self.scale > 0, self.scale, 1.0)
        return (x - _expand(self.shift, x.ndim)) / _expand(divisor, x.ndim)

    def invert(self, z: jax.Array) -> jax.Array:
        """Undoes the map."""
        return _expand(self.shift, z.ndim) + _expand(self.scale, z.ndim) * z

    def then(self, inner: "Affine") -> "Affine":
        """The map whose inverse is `inner`'s followed by this one's."""
        return Affine(self.invert(inner.shift), self.scale * inner.scale)


def _expand(x: jax.Array, ndim: int) -> jax.Array:
    return jnp.reshape(x, x.shape + (1,) * (ndim - x.ndim))


def zero_unobserved(x: jax.Array, mask: jax.Array) -> jax.Array:
    """Zeros in unobserved slots, so that their content (NaN included) is never read."""
    return jnp.where(mask, x, 0.0)


def fit_range(x: jax.Array, mask: jax.Array, axes: tuple[int, ...] = (-1,)) -> Affine:
    """The map that takes the observed minimum to 0 and the observed maximum to 1.

    Args:
        x: numbers of any shape.
        mask: bool of the same shape, True = observed.
        axes: axes to reduce.

    Returns:
        A map with the remaining axes; shift and scale are 0 where nothing is observed.
    """
    lowest = jnp.min(jnp.where(mask, x, jnp.inf), axis=axes)
    highest = jnp.max(jnp.where(mask, x, -jnp.inf), axis=axes)
    some = jnp.any(mask, axis=axes)
    return Affine(jnp.where(some, lowest, 0.0), jnp.where(some, highest - lowest, 0.0))


def fit_moments(x: jax.Array, mask: jax.Array, axes: tuple[int, ...] = (-1,)) -> Affine:
    """The map that gives the observed points mean 0 and standard deviation 1.

    The moments are those of points already scaled to [0, 1]. So constants are exact, and neither tiny nor huge numbers
    leave float32's range when squared.
    """
    unit = fit_range(x, mask, axes)
    moved = jnp.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    seen = jnp.moveaxis(mask, axes, range(x.ndim - len(axes), x.ndim))
    inside = zero_unobserved(unit.normalise(moved), seen)
    trailing = tuple(range(x.ndim - len(axes), x.ndim))
    count = jnp.maximum(jnp.sum(seen, axis=trailing), 1)
    mean = jnp.sum(inside, axis=trailing) / count
    deviation = zero_unobserved(inside - _expand(mean, x.ndim), seen)
    return unit.then(Affine(mean, safe_sqrt(jnp.sum(deviation**2, axis=trailing) / count)))


def safe_sqrt(x: jax.Array) -> jax.Array:
    """The square root, with a gradient of zero instead of infinity at zero."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1.0)), 0.0)
