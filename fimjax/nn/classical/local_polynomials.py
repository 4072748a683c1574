"""Local polynomials through observed points: what an interpolator may start from.

Moving least squares (Lancaster and Salkauskas 1981): at each time a polynomial is fitted to all points, near ones
weighing most. Weights fall with a power of the distance, so that a gap of any width is bridged from both its sides, and
the fits are smooth functions of time.
"""

import jax
import jax.numpy as jnp

FITS = ((1, 0.3), (1, 1.5), (2, 0.6))
"""Degree of each polynomial, and the distance, in mean spacings of the points, within which all points weigh alike: a
chord between neighbours, a line through a few of them, and a parabola."""

RIDGE = 0.001
"""Shrinks slopes and curvatures a little, so that two or three points have an answer too."""

BOUNDS = (-1.0, 2.0)
"""Of the fits, in the unit square: parabolas run away beyond the last point."""


LEAST_MISS, UNKNOWN_MISS = 0.003, 0.3
"""By how much fits miss at least, and where two points or fewer do not tell; in the unit square."""

EDGE = 1e-4
"""Points so near to the ends of a window are its first and its last, however they were rounded."""


def local_polynomials(
    asked: jax.Array, values: jax.Array, times: jax.Array, mask: jax.Array, skip: jax.Array | None = None
) -> jax.Array:
    """The fits through the points of each window, at the times asked for.

    Args:
        asked: [B, Q]; values, times, mask: [B, T]; all in the unit square.
        skip: [Q, T], points that the fits at a time leave out.

    Returns:
        [B, Q, len(FITS)], float32; zeros for a window without a point.
    """
    spacings = jnp.maximum(jnp.sum(mask, axis=-1) - 1, 1)
    distance = (times[:, None, :] - asked[:, :, None]) * spacings[:, None, None]  # [B, Q, T]
    mask = mask[:, None, :] if skip is None else mask[:, None, :] & ~skip[None]
    found = [_fit(degree, reach, distance, values[:, None, :], mask) for degree, reach in FITS]
    return jnp.clip(jnp.stack(found, axis=-1), *BOUNDS)


def typical_misses(values: jax.Array, times: jax.Array, mask: jax.Array) -> jax.Array:
    """By how much each fit misses the inner points of a window, on average, when it does not know them.

    Args:
        values, times, mask: [B, T], in the unit square.

    Returns:
        [B, len(FITS)]
    """
    inner = mask & (times > EDGE) & (times < 1 - EDGE)
    fits = local_polynomials(times, values, times, mask, jnp.eye(times.shape[-1], dtype=bool))
    misses = jnp.where(inner[..., None], jnp.abs(fits - values[..., None]), 0.0)
    count = jnp.sum(inner, axis=-1)[:, None]
    return jnp.where(count > 0, LEAST_MISS + jnp.sum(misses, axis=1) / jnp.maximum(count, 1), UNKNOWN_MISS)


def _fit(degree: int, reach: float, distance: jax.Array, values: jax.Array, mask: jax.Array) -> jax.Array:
    """The value at distance 0 of the polynomial fitted to [B, Q, T] -> [B, Q]."""
    weights = jnp.where(mask, (distance**2 + reach**2) ** -4, 0.0)
    weights = weights / jnp.maximum(jnp.sum(weights, axis=-1, keepdims=True), 1e-30)
    mean = lambda x: jnp.sum(weights * x, axis=-1)
    centre, level = mean(distance), mean(values)
    u, y = distance - centre[..., None], values - level[..., None]
    u2, uy = mean(u**2), mean(u * y)
    width = (1 + RIDGE) * u2 + 1e-7
    if degree == 1:
        return level - centre * uy / width
    u3, u4, u2y = mean(u**3), mean(u**4), mean(u**2 * y)
    fourth = (1 + RIDGE) * u4 + 1e-7 - u2**2
    determinant = width * fourth - u3**2
    slope, curvature = (uy * fourth - u3 * u2y) / determinant, (width * u2y - u3 * uy) / determinant
    return level - curvature * u2 - slope * centre + curvature * centre**2
