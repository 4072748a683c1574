"""Seasonal ARIMA by sampled poles, after SarSim0.

    phi(B) Phi(B^m) (1 - B)^(d + delta) (1 - B^m)^D x = theta(B) Theta(B^m) e

The stationary part is white noise times the transfer function in the frequency domain, on a circle three times as
long as the series, so no recursion runs and no transient is seen. Differences are undone by sums.
"""

import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random

from fimjax.prior.distributions import innovations, leaning_normal, log_uniform, uniform
from fimjax.prior.fast_trig import exp_turns
from fimjax.prior.path import Path, exact
from fimjax.prior.timescale import trend_scale, upward

MAX_RADIUS = 0.9
AR_FACTORS = 3
MA_FACTORS = 2


class Parameters(NamedTuple):
    """One model; a pole of radius 0 is none, a factor is one real pole or a pair of conjugate ones."""

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


def _factors_of(numbers: jax.Array, number: jax.Array) -> tuple[jax.Array, jax.Array]:
    """0 to F factors of [4, F] numbers: radius U(0, 0.9); half are real, three quarters of these positive."""
    most = numbers.shape[1]
    is_used = jnp.arange(most) < jnp.floor(number * (most + 1))
    radius = uniform(numbers[0], 0.0, MAX_RADIUS) * is_used
    real_angle = jnp.where(numbers[1] < 0.75, 0.0, jnp.pi)
    return radius, jnp.where(numbers[2] < 0.5, real_angle, uniform(numbers[3], 0.0, jnp.pi))


def draw_parameters(key: jax.Array, season: jax.Array) -> Parameters:
    """A model at random: d = 1 in 60 %, D = 1 in half of the seasonal ones, delta in U(0, 0.45) in 30 %.

    Seasonal poles: U(-0.2, 0.9), but at most 0.1 next to D = 1, as in SarSim0; seasonal moving average U(0, 0.9), at
    least 0.3 for d = D = 1, which would otherwise run away as a twice integrated process does.
    """
    n_factors = AR_FACTORS + MA_FACTORS
    numbers = random.uniform(key, (4 * n_factors + 13,))
    factors = numbers[: 4 * n_factors].reshape(4, n_factors)
    ar_order, ma_order, d, seasonal_d, uses_fraction, part = numbers[-13:-7]
    pole_number, uses_pole, ma_number, uses_ma = numbers[-7:-3]
    size, scale, uses_drift = numbers[-3:]

    ar_radius, ar_angle = _factors_of(factors[:, :AR_FACTORS], ar_order)
    ma_radius, ma_angle = _factors_of(factors[:, AR_FACTORS:], ma_order)
    difference = d < 0.6
    seasonal_difference = (seasonal_d < 0.5) & (season > 1)
    # Three sums in a row make curves that no series follows.
    fraction = uniform(part, 0.0, 0.45) * ((uses_fraction < 0.3) & ~(difference & seasonal_difference))

    pole = uniform(pole_number, -0.2, 0.9)
    pole = jnp.where(seasonal_difference, pole.clip(-0.1, 0.1), pole) * (uses_pole < 0.6)
    seasonal_ma = uniform(ma_number, 0.0, 0.9) * (uses_ma < 0.75)
    seasonal_ma = jnp.where(difference & seasonal_difference, jnp.maximum(seasonal_ma, 0.3), seasonal_ma)

    drift = trend_scale(season) * leaning_normal(size, upward(season)) * log_uniform(scale, 0.02, 0.5)
    drift = drift * ((uses_drift < 0.4) & difference & ~seasonal_difference)
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


def _factors(radius_F: jax.Array, angle_F: jax.Array, backshift_W: jax.Array) -> jax.Array:
    """prod (1 - r B) for real poles, prod (1 - 2 r cos(angle) B + r^2 B^2) for pairs, over frequencies [W]."""
    cosine_F = jnp.cos(angle_F)[:, None]
    r_F, b_W = radius_F[:, None], backshift_W[None, :]
    single = 1.0 - r_F * cosine_F * b_W
    pair = 1.0 - 2.0 * r_F * cosine_F * b_W + r_F**2 * b_W**2
    is_real_F = (jnp.abs(jnp.sin(angle_F)) < 1e-6)[:, None]
    return jnp.prod(jnp.where(is_real_F, single, pair), axis=0)


def next_smooth(n: int) -> int:
    """Smallest number from n on without a prime factor above 5, for which FFTs are fast; it divides a power of 30."""
    return next(m for m in itertools.count(n) if pow(30, m.bit_length(), m) == 0)


def circle_length(n: int) -> int:
    """Length of the circle on which the stationary part of n steps is drawn, at least 3 n.

    Long memory goes round a circle of any length. Integrated series with much of it are rougher on 2 n than on 4 n, by
    4 %; the time between the two is small.
    """
    return next_smooth(3 * n)


def fractional_factor(fraction: jax.Array, turns_W: jax.Array) -> jax.Array:
    """(1 - B)^-delta at frequencies [W] between 0 and 1/2.

    In polar form 1 - exp(-2 pi i w) is 2 sin(pi w) at pi (1/2 - w), so its power is a real one and a turn. The
    logarithm is that of the frequencies alone, hence computed once for all series.
    """
    log_radius_W = jnp.log(2.0 * jnp.sin(jnp.pi * turns_W))
    return jnp.exp(-fraction * log_radius_W) * exp_turns(-fraction * (0.25 - turns_W / 2))


def stationary_part(p: Parameters, noise_M: jax.Array, season: jax.Array) -> jax.Array:
    """The ARMA filter with fractional integration applied to white noise on a circle [M]."""
    m = noise_M.shape[0]
    turns_W = jnp.arange(m // 2 + 1) / m
    backshift_W = exp_turns(-turns_W)
    seasonal_backshift_W = exp_turns(-((jnp.arange(m // 2 + 1) * season) % m / m))
    ar_W = _factors(p.ar_radius, p.ar_angle, backshift_W)
    ma_W = _factors(p.ma_radius, p.ma_angle, backshift_W) * (1.0 - p.seasonal_ma * seasonal_backshift_W)
    # The fractional factor is infinite at frequency zero: read it half a bin to the right instead.
    fractional_W = fractional_factor(p.fraction, jnp.maximum(turns_W, 0.5 / m))
    filtered_M = jnp.fft.irfft(jnp.fft.rfft(noise_M) * ma_W / ar_W * fractional_W, m)
    # A seasonal pole rings for many seasons. On the circle its echoes would come round at the wrong lag, so it is
    # applied along the line, from the start of the circle on.
    return seasonal_sum(filtered_M, season, p.seasonal_ar)


def delay(x_N: jax.Array, steps: jax.Array) -> jax.Array:
    """x_(t - steps) for a traced number of steps, zero before the start."""
    # A slice of a padded row is copied as a whole; an array of indices would be followed one by one.
    n = x_N.shape[0]
    padded = jnp.concatenate([jnp.zeros_like(x_N), x_N])
    return lax.dynamic_slice_in_dim(padded, n - jnp.minimum(steps, n), n)


def seasonal_sum(x_N: jax.Array, season: jax.Array, pole: float | jax.Array = 1.0) -> jax.Array:
    """x_t + r x_(t-m) + r^2 x_(t-2m) + ... for a traced m >= 1, in log2(N) rounds that double the reach."""
    for doubling in range(math.ceil(math.log2(x_N.shape[0]))):
        x_N = x_N + pole ** (2**doubling) * delay(x_N, season * 2**doubling)
    return x_N


def integrate(p: Parameters, x_N: jax.Array, season: jax.Array) -> jax.Array:
    """Undo the differences, the seasonal one first."""
    x_N = jnp.where(p.seasonal_difference, seasonal_sum(x_N, season), x_N)
    return jnp.where(p.difference, jnp.cumsum(x_N + p.drift), x_N)


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """A random model and a path of it, standardised; the first season of a D = 1 model is 1 to 10 times as strong."""
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
    return exact((x_N - jnp.mean(x_N)) / jnp.maximum(jnp.std(x_N), 1e-6))
