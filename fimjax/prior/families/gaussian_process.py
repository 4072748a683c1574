"""Gaussian processes with the lab's four kernels.

When the season is 1, length scales and periods are the lab's: a Beta(a, b) part of the span, a and b each from {1, 2,
5}. The span is that of the windows rather than of the simulation, whose end alone they show; its length is not known
here and hence drawn. When there is a season, it is the period, and other scales are measured in seasons.
"""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import beta, log_uniform, normal
from fimjax.prior.path import Path, exact
from fimjax.prior.waves import add_waves, smooth_waves

HARMONICS = 32
"""Terms of the periodic kernel's Fourier series."""
MIN_ROUGHNESS = 0.1
"""Smallest length scale of the periodic kernel: its series then holds 99.8 % of the variance."""
MIN_PERIOD = 4.0
"""Shortest period, in steps, when there is no season."""
MIN_LENGTH_SCALE = 2.0
"""Shortest length scale of a squared exponential, in steps."""
MIX_FEATURES = 64
"""Waves of the locally periodic kernel."""
LAB_SHAPES = (1, 2, 5)
LAB_NUMBERS = 2 + 2 * max(LAB_SHAPES)


def _lab_fraction(numbers: jax.Array) -> jax.Array:
    """Beta(a, b) with a and b from the lab's shapes, of LAB_NUMBERS uniform numbers."""
    a, b = jnp.array(LAB_SHAPES)[jnp.floor(numbers[:2] * len(LAB_SHAPES)).astype(int)]
    return beta(*numbers[2:].reshape(2, -1), a, b)


def _draw_span(u: jax.Array, times_N: jax.Array) -> jax.Array:
    """The stretch, in steps, on which a function shall look as it does on the lab's [0, 1]."""
    return (times_N[-1] - times_N[0]) * log_uniform(u, 1 / 16, 1.0)


def _draw_scales(key: jax.Array, times_N: jax.Array, season: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The span and the period in steps, and the periodic kernel's length scale (`roughness`), which has no unit."""
    numbers = random.uniform(key, (2 + 2 * LAB_NUMBERS,))
    (stretch, rough), (period_numbers, rough_numbers) = numbers[:2], numbers[2:].reshape(2, LAB_NUMBERS)
    span = _draw_span(stretch, times_N)
    period = jnp.where(season > 1, season, jnp.maximum(span * _lab_fraction(period_numbers), MIN_PERIOD))
    lab_roughness = jnp.maximum(_lab_fraction(rough_numbers), MIN_ROUGHNESS)
    return span, period, jnp.where(season > 1, log_uniform(rough, 0.3, 2.0), lab_roughness)


def harmonic_variances(roughness: jax.Array) -> jax.Array:
    """Fourier series [HARMONICS + 1] of the periodic kernel exp(-2 sin^2(x / 2) / l^2), scaled to sum to one.

    The kernel is exp((cos x - 1) / l^2), whose coefficients are the scaled Bessel functions e^-z I_k(z), z = 1 / l^2,
    twice for k > 0. The FFT of the kernel is their trapezoidal rule, exact to rounding for a function so smooth.
    """
    x = jnp.linspace(0.0, 2 * jnp.pi, 8 * HARMONICS, endpoint=False)
    coefficients = jnp.fft.rfft(jnp.exp((jnp.cos(x) - 1.0) / roughness**2), norm="forward").real[: HARMONICS + 1]
    multiplicity = jnp.where(jnp.arange(HARMONICS + 1) == 0, 1.0, 2.0)
    variances = jnp.maximum(multiplicity * coefficients, 0.0)
    return variances / jnp.sum(variances)


def periodic_waves(key: jax.Array, times_N: jax.Array, period: jax.Array, roughness: jax.Array) -> jax.Array:
    """Unit-variance process with the periodic kernel exp(-2 sin^2(pi (t - t') / p) / l^2)."""
    numbers = random.uniform(key, (2, HARMONICS + 1))
    deviations = jnp.sqrt(harmonic_variances(roughness))
    return add_waves(numbers, times_N, jnp.arange(HARMONICS + 1) / period, deviations)


def locally_periodic_waves(
    key: jax.Array, times_N: jax.Array, period: jax.Array, roughness: jax.Array, length_scale: jax.Array
) -> jax.Array:
    """Unit-variance process with the periodic kernel times exp(-(t - t')^2 / 2 s^2).

    The spectrum of a product is the convolution of the spectra: a harmonic drawn by its variance (stratified, which
    leaves no big one out), blurred by the normal spectrum of the squared exponential.
    """
    numbers = random.uniform(key, (4, MIX_FEATURES))
    strata = (jnp.arange(MIX_FEATURES) + numbers[2]) / MIX_FEATURES
    harmonics = jnp.searchsorted(jnp.cumsum(harmonic_variances(roughness)), strata).clip(max=HARMONICS)
    frequencies = harmonics / period + normal(numbers[3]) / (2 * jnp.pi * length_scale)
    return add_waves(numbers[:2], times_N, frequencies, jnp.full((MIX_FEATURES,), MIX_FEATURES**-0.5))


def draw_rbf(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Squared-exponential kernel, its length scale a part of the span, or half a season to eight seasons."""
    scale_key, path_key = random.split(key)
    numbers = random.uniform(scale_key, (2 + LAB_NUMBERS,))
    lab = _draw_span(numbers[0], times_N) * _lab_fraction(numbers[2:])
    length_scale = jnp.where(season > 1, season * log_uniform(numbers[1], 0.5, 8.0), lab)
    return exact(smooth_waves(path_key, times_N, jnp.maximum(length_scale, MIN_LENGTH_SCALE)))


def draw_periodic(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Periodic kernel."""
    scale_key, path_key = random.split(key)
    _, period, roughness = _draw_scales(scale_key, times_N, season)
    return exact(periodic_waves(path_key, times_N, period, roughness))


def draw_locally_periodic(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Periodic times squared exponential: a season that changes, over 2 to 30 of its lengths.

    Without a season both kernels share one length scale, as in the lab.
    """
    scale_key, season_key, path_key = random.split(key, 3)
    span, period, roughness = _draw_scales(scale_key, times_N, season)
    seasons = log_uniform(random.uniform(season_key), 2.0, 30.0)
    length_scale = jnp.where(season > 1, season * seasons, span * roughness)
    return exact(locally_periodic_waves(path_key, times_N, period, roughness, length_scale))


def draw_linear_periodic(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Linear plus periodic kernel: a straight line that rises by N(0, 1) to N(0, 4^2) over the span, and a season."""
    scale_key, line_key, path_key = random.split(key, 3)
    span, period, roughness = _draw_scales(scale_key, times_N, season)
    size, scale = random.uniform(line_key, (2,))
    slope = normal(size) * log_uniform(scale, 1.0, 4.0) / span
    return exact(periodic_waves(path_key, times_N, period, roughness) + slope * (times_N - times_N[0]))
