"""Local polynomials through observed points in PyTorch, as in fimjax.nn.classical.local_polynomials."""

import torch
from torch import Tensor

FITS, RIDGE, BOUNDS = ((1, 0.3), (1, 1.5), (2, 0.6)), 0.001, (-1.0, 2.0)  # as in fimjax.nn.classical.local_polynomials
LEAST_MISS, UNKNOWN_MISS, EDGE = 0.003, 0.3, 1e-4  # likewise


def local_polynomials(asked: Tensor, values: Tensor, times: Tensor, mask: Tensor, skip: Tensor | None = None) -> Tensor:
    """asked [B, Q], values, times, mask [B, T], in the unit square, and skip [Q, T], which points a fit leaves out.

    Returns [B, Q, len(FITS)], zeros without a point.
    """
    spacings = (mask.sum(-1) - 1).clamp(min=1)
    distance = (times[:, None, :] - asked[:, :, None]) * spacings[:, None, None]
    mask = mask[:, None] if skip is None else mask[:, None] & ~skip
    found = [_fit(degree, reach, distance, values[:, None], mask) for degree, reach in FITS]
    return torch.stack(found, -1).clamp(*BOUNDS)


def typical_misses(values: Tensor, times: Tensor, mask: Tensor) -> Tensor:
    """By how much each fit misses inner points that it does not know: [B, T] in the unit square -> [B, len(FITS)]."""
    inner = mask & (times > EDGE) & (times < 1 - EDGE)
    fits = local_polynomials(times, values, times, mask, torch.eye(times.shape[-1], dtype=torch.bool))
    misses = (fits - values[..., None]).abs().masked_fill(~inner[..., None], 0.0)
    count = inner.sum(-1, keepdim=True)
    return torch.where(count > 0, LEAST_MISS + misses.sum(1) / count.clamp(min=1), UNKNOWN_MISS)


def _fit(degree: int, reach: float, distance: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """The value at distance 0 of the polynomial fitted to [B, Q, T] -> [B, Q]."""
    weights = (distance.square() + reach**2).square().square().reciprocal().masked_fill(~mask, 0.0)
    weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)
    mean = lambda x: (weights * x).sum(-1)
    centre, level = mean(distance), mean(values)
    u, y = distance - centre[..., None], values - level[..., None]
    squares, products = u.square(), u * y
    u2, uy = mean(squares), mean(products)
    width = (1 + RIDGE) * u2 + 1e-7
    if degree == 1:
        return level - centre * uy / width
    u3, u4, u2y = mean(squares * u), mean(squares.square()), mean(products * u)
    fourth = (1 + RIDGE) * u4 + 1e-7 - u2.square()
    determinant = width * fourth - u3.square()
    slope, curvature = (uy * fourth - u3 * u2y) / determinant, (width * u2y - u3 * uy) / determinant
    return level - curvature * u2 - slope * centre + curvature * centre.square()
