"""Local polynomials through observed points (moving least squares, Lancaster and Salkauskas 1981).

They are the baselines that the interpolator corrects. At each query time a polynomial is fitted to all points, and near
points weigh most. Weights fall with a power of the distance, so a gap of any width is bridged from both sides and the
fits are smooth functions of time.
"""

import jax
import jax.numpy as jnp

FITS = ((1, 0.3), (1, 1.5), (2, 0.6))
"""Degree of each polynomial, and its bandwidth in mean spacings of the points: a chord between neighbours, a line
through a few points, and a parabola."""
RIDGE = 0.001
"""Shrinks slopes and curvatures, so that two or three points are enough."""
BOUNDS = (-1.0, 2.0)
"""The fits are clipped to these values in the unit square, because parabolas diverge beyond the last point."""
LEAST_ERROR, UNKNOWN_ERROR = 0.003, 0.3
"""Smallest error of a fit, and the error assumed for windows without inner points; in the unit square."""
EDGE = 1e-4
"""Points this close to the ends of a window count as its first and last point, despite rounding."""


def local_polynomials(
    query_times: jax.Array, values: jax.Array, times: jax.Array, mask: jax.Array, skip: jax.Array | None = None
) -> jax.Array:
    """The fits through the points of each window at the query times.

    Args:
        query_times: [B, Q]; values, times, mask: [B, T]; all in the unit square.
        skip: [Q, T], points that are left out of the fit at a query time.

    Returns:
        [B, Q, len(FITS)], float32; zeros for a window without a point.
    """
    spacings = jnp.maximum(jnp.sum(mask, axis=-1) - 1, 1)
    distance = (times[:, None, :] - query_times[:, :, None]) * spacings[:, None, None]  # [B, Q, T]
    mask = mask[:, None, :] if skip is None else mask[:, None, :] & ~skip[None]
    fits = [_fit(degree, bandwidth, distance, values[:, None, :], mask) for degree, bandwidth in FITS]
    return jnp.clip(jnp.stack(fits, axis=-1), *BOUNDS)


def leave_one_out_errors(values: jax.Array, times: jax.Array, mask: jax.Array) -> jax.Array:
    """Mean absolute error of each fit at the inner points of a window, with that point left out.

    Args:
        values, times, mask: [B, T], in the unit square.

    Returns:
        [B, len(FITS)]
    """
    inner = mask & (times > EDGE) & (times < 1 - EDGE)
    fits = local_polynomials(times, values, times, mask, jnp.eye(times.shape[-1], dtype=bool))
    errors = jnp.where(inner[..., None], jnp.abs(fits - values[..., None]), 0.0)
    count = jnp.sum(inner, axis=-1)[:, None]
    return jnp.where(count > 0, LEAST_ERROR + jnp.sum(errors, axis=1) / jnp.maximum(count, 1), UNKNOWN_ERROR)


def _fit(degree: int, bandwidth: float, distance: jax.Array, values: jax.Array, mask: jax.Array) -> jax.Array:
    """The value at distance 0 of the polynomial fitted to [B, Q, T]: [B, Q]."""
    weights = jnp.where(mask, (distance**2 + bandwidth**2) ** -4, 0.0)
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
