"""Dataset G of the CFTL paper: nine signals of t, and their combinations.

Time runs from 0 to 1 over the simulated span. The windows show only its end, a twentieth of it up to all, so rates are
log-uniform over a wide range and events are more likely near t = 1.
"""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import log_uniform, normal, uniform, uniform_numbers
from fimjax.prior.family import Path, noise_free

MAX_SIGNALS = 4


def constant(t: jax.Array, k: jax.Array) -> jax.Array:
    return jnp.full_like(t, k)


def sine(t: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.sin(jnp.pi * a * t + b)


def cosine(t: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.cos(jnp.pi * a * t + b)


def line(t: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    return a * t + b


def reciprocal_sine(t: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """sin(pi a / t + b) for t away from zero."""
    return jnp.sin(jnp.pi * a / t + b)


def bump(t: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    return a * jnp.exp(-((t - b) ** 2) / c)


def exponential(t: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    return a * jnp.exp(b * t)


def parabola(t: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    return a * t**2 + b * t + c


def logistic(t: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    return a * jax.nn.sigmoid(b * (t - c))


def all_signals(key: jax.Array, t_N: jax.Array, seasonal_rate: jax.Array) -> jax.Array:
    """One draw [9, N] of each signal, values of order one.

    Args:
      key: a typed key.
      t_N: times in [0, 1].
      seasonal_rate: the rate of sine and cosine in half of the draws; 0 = always draw a rate.
    """
    numbers = iter(random.uniform(key, (26,)))

    def amplitude(scale: float = 1.0) -> jax.Array:
        return scale * normal(next(numbers))

    def angle() -> jax.Array:
        return uniform(next(numbers), 0.0, 2 * jnp.pi)

    def rate() -> jax.Array:
        drawn, use_season = log_uniform(next(numbers), 1.0, 60.0), next(numbers) < 0.5
        return jnp.where(use_season & (seasonal_rate > 0), seasonal_rate, drawn)

    def location() -> jax.Array:
        return 1.0 - next(numbers) ** 2

    growth = uniform(next(numbers), -4.0, 4.0)
    return jnp.stack(
        [
            constant(t_N, amplitude()),
            sine(t_N, rate(), angle()),
            cosine(t_N, rate(), angle()),
            line(t_N, amplitude(2.0), amplitude()),
            # From t = 0.1 on, the fastest oscillation is below the Nyquist rate of a grid of 400 steps.
            reciprocal_sine(t_N + 0.1, log_uniform(next(numbers), 0.2, 4.0), angle()),
            bump(t_N, amplitude(2.0), location(), log_uniform(next(numbers), 3e-4, 0.3)),
            exponential(t_N, amplitude(2.0) * jnp.exp(-jnp.maximum(growth, 0.0)), growth),
            parabola(t_N, amplitude(2.0), amplitude(2.0), amplitude()),
            logistic(t_N, amplitude(2.0), log_uniform(next(numbers), 5.0, 200.0), location()),
        ]
    )


def combine(signals_CN: jax.Array, n_signals: jax.Array, is_product_C: jax.Array) -> jax.Array:
    """The first n_signals folded from left to right, by sum or by product."""
    combined_N = signals_CN[0]
    for i in range(1, signals_CN.shape[0]):
        folded_N = jnp.where(is_product_C[i], combined_N * signals_CN[i], combined_N + signals_CN[i])
        combined_N = jnp.where(i < n_signals, folded_N, combined_N)
    return combined_N


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """One to four different signals, combined by sums (two thirds) and products."""
    signal_key, choice_key = random.split(key)
    span = times_N[-1] - times_N[0]
    seasonal_rate = jnp.where(season > 1, 2.0 * span / season, 0.0)
    signals = all_signals(signal_key, (times_N - times_N[0]) / span, seasonal_rate)
    order, product, number = uniform_numbers(choice_key, (len(signals),), (MAX_SIGNALS,), ())
    chosen = jnp.argsort(order)[:MAX_SIGNALS]
    n_signals = 1 + jnp.floor(MAX_SIGNALS * number)
    return noise_free(combine(signals[chosen], n_signals, product < 1 / 3))
