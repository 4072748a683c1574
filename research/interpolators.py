"""Interpolators without a trained model, fitted to the observed points of one window; used by `filling`."""

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

Interpolator = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Interpolates values [n] at increasing times [n] to query times [Q] between the first and the last."""

LENGTHS = 12
"""Number of length scales in the grid, from the median distance of two points to LONGEST."""

LONGEST = 4.0
"""Longest length scale of a Gaussian process, in windows."""

NOISES = np.geomspace(1e-6, 10.0, 22)
"""Grid of noise variances, relative to the variance of the process."""

KERNELS = (
    lambda d: np.exp(-0.5 * d**2),
    lambda d: (1 + 5**0.5 * d + 5 / 3 * d**2) * np.exp(-(5**0.5) * d),
    lambda d: np.exp(-d),
)
"""Squared exponential, Matern 5/2 and Matern 1/2, of the distance in length scales, from smooth to rough."""


def linear(times: np.ndarray, values: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Straight lines from point to point."""
    return np.interp(queries, times, values)


def cubic_spline(times: np.ndarray, values: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The not-a-knot cubic spline through all points: a parabola through three, a line through two."""
    return CubicSpline(times, values)(queries) if len(times) > 1 else linear(times, values, queries)


def gaussian_process(times: np.ndarray, values: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The posterior mean of a Gaussian process with noise, for standardised values on the unit interval.

    Kernel, length scale and noise maximise the marginal likelihood over a grid (Rasmussen and Williams, equation 5.8);
    the variance of the process is the best one for each. With K = U diag(e) U', the likelihood of a noise r needs only
    sums over e + r.
    """
    shift, scale = values.mean(), values.std()
    if scale == 0:
        return np.full(len(queries), shift)
    start, duration = times[0], times[-1] - times[0]
    t, q, y = (times - start) / duration, (queries - start) / duration, (values - shift) / scale
    lengths = np.geomspace(np.median(np.diff(t)), LONGEST, LENGTHS)
    distances = np.abs(t[:, None] - t) / lengths[:, None, None]
    e_An, U_Ann = np.linalg.eigh(np.concatenate([kernel(distances) for kernel in KERNELS]))
    a_An = np.einsum("Anm,n->Am", U_Ann, y)
    spectrum_ARn = np.maximum(e_An, 0.0)[:, None] + NOISES[:, None]
    variance_AR = np.mean(a_An[:, None] ** 2 / spectrum_ARn, axis=-1)
    likelihood_AR = -0.5 * (len(y) * np.log(variance_AR) + np.log(spectrum_ARn).sum(axis=-1))
    best, noise = np.unravel_index(np.argmax(likelihood_AR), likelihood_AR.shape)
    kernel, length = KERNELS[best // LENGTHS], lengths[best % LENGTHS]
    weights = U_Ann[best] @ (a_An[best] / spectrum_ARn[best, noise])
    return shift + scale * (kernel(np.abs(q[:, None] - t) / length) @ weights)


INTERPOLATORS: dict[str, Interpolator] = {
    "linear": linear,
    "cubic spline": cubic_spline,
    "Gaussian process": gaussian_process,
}
