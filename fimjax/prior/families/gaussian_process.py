"""Gaussian processes with the four kernels of the lab report.

Without a season (1), length scales and periods are those of the report: a Beta(a, b) share of the span, a and b each
from {1, 2, 5}. The span is that of the windows, which show only the end of the simulation. Its length is not known
here, so it is drawn. With a season, the period is the season, and other scales are measured in seasons.
"""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import beta, log_uniform, normal, uniform_numbers
from fimjax.prior.family import Path, noise_free
from fimjax.prior.spectral import squared_exponential_process, sum_of_cosines

HARMONICS = 32
"""Terms of the Fourier series of the periodic kernel."""
MIN_ROUGHNESS = 0.1
"""Smallest length scale of the periodic kernel; the truncated series then has 99.8 % of the variance."""
MIN_PERIOD = 4.0
"""Shortest period, in steps, when there is no season."""
MIN_LENGTH_SCALE = 2.0
"""Shortest length scale of a squared exponential, in steps."""
LOCALLY_PERIODIC_FEATURES = 64
"""Cosines of the locally periodic kernel."""
BETA_SHAPES = (1, 2, 5)
BETA_NUMBERS = 2 + 2 * max(BETA_SHAPES)


def _beta_share(numbers: jax.Array) -> jax.Array:
    """Beta(a, b) with random a and b from BETA_SHAPES, of BETA_NUMBERS uniform numbers."""
    a, b = jnp.array(BETA_SHAPES)[jnp.floor(numbers[:2] * len(BETA_SHAPES)).astype(int)]
    a_numbers, b_numbers = numbers[2:].reshape(2, -1)
    return beta(a_numbers, b_numbers, a, b)


def _draw_span(u: jax.Array, times_N: jax.Array) -> jax.Array:
    """The number of steps that stand for the interval [0, 1] of the report."""
    return (times_N[-1] - times_N[0]) * log_uniform(u, 1 / 16, 1.0)


def _draw_scales(key: jax.Array, times_N: jax.Array, season: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The span and the period in steps, and the periodic kernel's length scale (`roughness`), which has no unit."""
    (span_u, roughness_u), period_numbers, roughness_numbers = uniform_numbers(
        key, (2,), (BETA_NUMBERS,), (BETA_NUMBERS,)
    )
    span = _draw_span(span_u, times_N)
    period = jnp.where(season > 1, season, jnp.maximum(span * _beta_share(period_numbers), MIN_PERIOD))
    report_roughness = jnp.maximum(_beta_share(roughness_numbers), MIN_ROUGHNESS)
    return span, period, jnp.where(season > 1, log_uniform(roughness_u, 0.3, 2.0), report_roughness)


def harmonic_variances(roughness: jax.Array) -> jax.Array:
    """Fourier series [HARMONICS + 1] of the periodic kernel exp(-2 sin^2(x / 2) / l^2), scaled to sum to one.

    The kernel is exp((cos x - 1) / l^2), whose coefficients are the scaled Bessel functions e^-z I_k(z), z = 1 / l^2,
    twice for k > 0. The FFT of the kernel is their trapezoidal rule, exact to rounding for so smooth a function.
    """
    x = jnp.linspace(0.0, 2 * jnp.pi, 8 * HARMONICS, endpoint=False)
    coefficients = jnp.fft.rfft(jnp.exp((jnp.cos(x) - 1.0) / roughness**2), norm="forward").real[: HARMONICS + 1]
    multiplicity = jnp.where(jnp.arange(HARMONICS + 1) == 0, 1.0, 2.0)
    variances = jnp.maximum(multiplicity * coefficients, 0.0)
    return variances / jnp.sum(variances)


def periodic_process(key: jax.Array, times_N: jax.Array, period: jax.Array, roughness: jax.Array) -> jax.Array:
    """Unit-variance process with the periodic kernel exp(-2 sin^2(pi (t - t') / p) / l^2)."""
    amplitude_u_F, phase_u_F = random.uniform(key, (2, HARMONICS + 1))
    deviations_F = jnp.sqrt(harmonic_variances(roughness))
    return sum_of_cosines(amplitude_u_F, phase_u_F, times_N, jnp.arange(HARMONICS + 1) / period, deviations_F)


def locally_periodic_process(
    key: jax.Array, times_N: jax.Array, period: jax.Array, roughness: jax.Array, length_scale: jax.Array
) -> jax.Array:
    """Unit-variance process with the periodic kernel times exp(-(t - t')^2 / 2 s^2).

    The spectrum of a product is the convolution of the spectra: a harmonic, drawn in proportion to its variance, plus a
    normal frequency from the spectrum of the squared exponential. Stratified draws leave no strong harmonic out.
    """
    features = LOCALLY_PERIODIC_FEATURES
    amplitude_u_F, phase_u_F, harmonic_u_F, offset_u_F = random.uniform(key, (4, features))
    strata_F = (jnp.arange(features) + harmonic_u_F) / features
    harmonics_F = jnp.searchsorted(jnp.cumsum(harmonic_variances(roughness)), strata_F).clip(max=HARMONICS)
    frequencies_F = harmonics_F / period + normal(offset_u_F) / (2 * jnp.pi * length_scale)
    deviations_F = jnp.full((features,), features**-0.5)
    return sum_of_cosines(amplitude_u_F, phase_u_F, times_N, frequencies_F, deviations_F)


def draw_rbf(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Squared-exponential kernel, its length scale a share of the span, or half a season to eight seasons."""
    scale_key, path_key = random.split(key)
    (span_u, seasons_u), beta_numbers = uniform_numbers(scale_key, (2,), (BETA_NUMBERS,))
    without_season = _draw_span(span_u, times_N) * _beta_share(beta_numbers)
    length_scale = jnp.where(season > 1, season * log_uniform(seasons_u, 0.5, 8.0), without_season)
    return noise_free(squared_exponential_process(path_key, times_N, jnp.maximum(length_scale, MIN_LENGTH_SCALE)))


def draw_periodic(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Periodic kernel."""
    scale_key, path_key = random.split(key)
    _, period, roughness = _draw_scales(scale_key, times_N, season)
    return noise_free(periodic_process(path_key, times_N, period, roughness))


def draw_locally_periodic(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Periodic times squared exponential: a seasonal pattern that changes over 2 to 30 seasons.

    Without a season both kernels share one length scale, as in the lab report.
    """
    scale_key, season_key, path_key = random.split(key, 3)
    span, period, roughness = _draw_scales(scale_key, times_N, season)
    seasons = log_uniform(random.uniform(season_key), 2.0, 30.0)
    length_scale = jnp.where(season > 1, season * seasons, span * roughness)
    return noise_free(locally_periodic_process(path_key, times_N, period, roughness, length_scale))


def draw_linear_periodic(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Linear plus periodic kernel: a straight line that rises by N(0, 1) to N(0, 4^2) over the span, and a season."""
    scale_key, line_key, path_key = random.split(key, 3)
    span, period, roughness = _draw_scales(scale_key, times_N, season)
    slope_u, scale = random.uniform(line_key, (2,))
    slope = normal(slope_u) * log_uniform(scale, 1.0, 4.0) / span
    return noise_free(periodic_process(path_key, times_N, period, roughness) + slope * (times_N - times_N[0]))
