"""Seasonal ARIMA by sampled poles, after SarSim0.

    phi(B) Phi(B^m) (1 - B)^(d + delta) (1 - B^m)^D x = theta(B) Theta(B^m) e

The stationary part is white noise times the transfer function in the frequency domain, on a circle three times as
long as the series, so there is neither a recursion nor a transient. Differences are undone by sums.
"""

import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random

from fimjax.prior.distributions import innovations, log_uniform, sign_biased_normal, uniform, uniform_numbers
from fimjax.prior.family import Path, noise_free
from fimjax.prior.fast_trig import exp_2pi_i
from fimjax.prior.timescale import share_rising, trend_scale

MAX_RADIUS = 0.9
AR_FACTORS = 3
MA_FACTORS = 2


class Parameters(NamedTuple):
    """One model. A factor is one real pole or a conjugate pair; a pole of radius 0 has no effect."""

    ar_radius: jax.Array  # [AR_FACTORS]
    ar_angle: jax.Array  # [AR_FACTORS], 0 or pi for a real pole
    ma_radius: jax.Array  # [MA_FACTORS]
    ma_angle: jax.Array  # [MA_FACTORS]
    seasonal_ar: jax.Array
    seasonal_ma: jax.Array
    fraction: jax.Array  # delta, fractional differencing in [0, 0.45]
    difference: jax.Array  # d is 1, bool
    seasonal_difference: jax.Array  # D is 1, bool
    drift: jax.Array  # added to each difference


def _draw_factors(numbers: jax.Array, order: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Radii and angles of up to `most` factors: radius U(0, 0.9); half are real, three quarters of these positive.

    Args:
      numbers: [4, most] uniform numbers.
      order: a uniform number, for the number of factors.
    """
    radius_u, sign, draws_real, angle_u = numbers
    most = numbers.shape[1]
    is_used = jnp.arange(most) < jnp.floor(order * (most + 1))
    radius = uniform(radius_u, 0.0, MAX_RADIUS) * is_used
    real_angle = jnp.where(sign < 0.75, 0.0, jnp.pi)
    return radius, jnp.where(draws_real < 0.5, real_angle, uniform(angle_u, 0.0, jnp.pi))


def draw_parameters(key: jax.Array, season: jax.Array) -> Parameters:
    """A model at random: d = 1 in 60 %, D = 1 in half of the seasonal ones, delta in U(0, 0.45) in 30 %.

    The seasonal pole is U(-0.2, 0.9), but within 0.1 of zero next to D = 1, as in SarSim0. The seasonal moving average
    is U(0, 0.9), but at least 0.3 for d = D = 1, which would otherwise diverge as a twice integrated process does.
    """
    factors, orders, seasonal, drift_numbers = uniform_numbers(key, (4, AR_FACTORS + MA_FACTORS), (6,), (4,), (3,))
    ar_order, ma_order, draws_d, draws_seasonal_d, draws_fraction, fraction_u = orders
    seasonal_ar_u, draws_seasonal_ar, seasonal_ma_u, draws_seasonal_ma = seasonal
    drift_u, drift_size, draws_drift = drift_numbers

    ar_radius, ar_angle = _draw_factors(factors[:, :AR_FACTORS], ar_order)
    ma_radius, ma_angle = _draw_factors(factors[:, AR_FACTORS:], ma_order)
    difference = draws_d < 0.6
    seasonal_difference = (draws_seasonal_d < 0.5) & (season > 1)
    # Three sums in a row make curves that are smoother than any real series.
    fraction = uniform(fraction_u, 0.0, 0.45) * ((draws_fraction < 0.3) & ~(difference & seasonal_difference))

    pole = uniform(seasonal_ar_u, -0.2, 0.9)
    pole = jnp.where(seasonal_difference, pole.clip(-0.1, 0.1), pole) * (draws_seasonal_ar < 0.6)
    seasonal_ma = uniform(seasonal_ma_u, 0.0, 0.9) * (draws_seasonal_ma < 0.75)
    seasonal_ma = jnp.where(difference & seasonal_difference, jnp.maximum(seasonal_ma, 0.3), seasonal_ma)

    drift = trend_scale(season) * sign_biased_normal(drift_u, share_rising(season)) * log_uniform(drift_size, 0.02, 0.5)
    drift = drift * ((draws_drift < 0.4) & difference & ~seasonal_difference)
    return Parameters(
        ar_radius,
        ar_angle,
        ma_radius,
        ma_angle,
        pole * (season > 1),
        seasonal_ma * (season > 1),
        fraction,
        difference,
        seasonal_difference,
        drift,
    )


def _polynomial(radius: jax.Array, angle: jax.Array, backshift_F: jax.Array) -> jax.Array:
    """prod (1 - r B) for real poles, prod (1 - 2 r cos(angle) B + r^2 B^2) for pairs, at frequencies [F]."""
    r, cosine, b_F = radius[:, None], jnp.cos(angle)[:, None], backshift_F[None, :]
    single = 1.0 - r * cosine * b_F
    pair = 1.0 - 2.0 * r * cosine * b_F + r**2 * b_F**2
    is_real = (jnp.abs(jnp.sin(angle)) < 1e-6)[:, None]
    return jnp.prod(jnp.where(is_real, single, pair), axis=0)


def next_smooth(n: int) -> int:
    """Smallest number >= n without a prime factor above 5, because FFTs of such lengths are fast."""
    # A number has only the factors 2, 3 and 5 if it divides a power of 30.
    return next(m for m in itertools.count(n) if pow(30, m.bit_length(), m) == 0)


def circle_length(n: int) -> int:
    """Length of the circle on which the stationary part of n steps is drawn, at least 3 n.

    Long memory wraps around a circle of any length. Integrated series with much of it are 4 % rougher on a circle of
    2 n than on one of 4 n; 3 n costs little more time than 2 n.
    """
    return next_smooth(3 * n)


def fractional_factor(fraction: jax.Array, frequencies_F: jax.Array) -> jax.Array:
    """(1 - B)^-delta at frequencies [F] between 0 and 1/2.

    In polar form, 1 - exp(-2 pi i f) has the radius 2 sin(pi f) and the angle pi (1/2 - f). The logarithm depends on
    the frequencies only, so it is computed once for all series.
    """
    log_radius_F = jnp.log(2.0 * jnp.sin(jnp.pi * frequencies_F))
    return jnp.exp(-fraction * log_radius_F) * exp_2pi_i(-fraction * (0.25 - frequencies_F / 2))


def stationary_part(p: Parameters, noise_M: jax.Array, season: jax.Array) -> jax.Array:
    """The ARMA filter with fractional integration applied to white noise on a circle [M]."""
    m = noise_M.shape[0]
    frequencies_F = jnp.arange(m // 2 + 1) / m
    backshift_F = exp_2pi_i(-frequencies_F)
    seasonal_backshift_F = exp_2pi_i(-((jnp.arange(m // 2 + 1) * season) % m / m))
    ar_F = _polynomial(p.ar_radius, p.ar_angle, backshift_F)
    ma_F = _polynomial(p.ma_radius, p.ma_angle, backshift_F) * (1.0 - p.seasonal_ma * seasonal_backshift_F)
    # The fractional factor is infinite at frequency zero: evaluate it half a bin to the right instead.
    fractional_F = fractional_factor(p.fraction, jnp.maximum(frequencies_F, 0.5 / m))
    filtered_M = jnp.fft.irfft(jnp.fft.rfft(noise_M) * ma_F / ar_F * fractional_F, m)
    # The echoes of a seasonal pole last for many seasons and would wrap around the circle at a wrong lag. So the pole
    # is applied along the line, from the start of the circle on.
    return seasonal_sum(filtered_M, season, p.seasonal_ar)


def delay(x_N: jax.Array, steps: jax.Array) -> jax.Array:
    """x_(t - steps) for a traced number of steps, zero before the start."""
    # Slicing a padded row copies it as a whole; indexing with an array would gather one value after the other.
    n = x_N.shape[0]
    padded = jnp.concatenate([jnp.zeros_like(x_N), x_N])
    return lax.dynamic_slice_in_dim(padded, n - jnp.minimum(steps, n), n)


def seasonal_sum(x_N: jax.Array, season: jax.Array, pole: float | jax.Array = 1.0) -> jax.Array:
    """x_t + r x_(t-m) + r^2 x_(t-2m) + ... for a traced m >= 1, in log2(N) doublings."""
    for doubling in range(math.ceil(math.log2(x_N.shape[0]))):
        x_N = x_N + pole ** (2**doubling) * delay(x_N, season * 2**doubling)
    return x_N


def integrate(p: Parameters, x_N: jax.Array, season: jax.Array) -> jax.Array:
    """Undo the differences, the seasonal one first."""
    x_N = jnp.where(p.seasonal_difference, seasonal_sum(x_N, season), x_N)
    return jnp.where(p.difference, jnp.cumsum(x_N + p.drift), x_N)


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """A standardised path of a random model; the first season of a D = 1 model is amplified by 1 to 10."""
    parameter_key, noise_key, pattern_key = random.split(key, 3)
    n = times_N.shape[0]
    p = draw_parameters(parameter_key, season)
    x_N = stationary_part(p, innovations(noise_key, circle_length(n), heavy_share=0.2), season)[-n:]
    x_N = x_N / jnp.maximum(jnp.std(x_N), 1e-6)
    in_first_season = p.seasonal_difference & (jnp.arange(n) < season)
    first_N = jnp.where(in_first_season, log_uniform(random.uniform(pattern_key), 1.0, 10.0) * x_N, x_N)
    # A first season that does not sum to zero would be a trend of its own after the sums.
    first_mean = jnp.sum(first_N, where=in_first_season) / season
    x_N = integrate(p, jnp.where(in_first_season, first_N - first_mean, first_N), season)
    return noise_free((x_N - jnp.mean(x_N)) / jnp.maximum(jnp.std(x_N), 1e-6))
