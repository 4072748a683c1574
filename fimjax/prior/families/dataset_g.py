"""Dataset G of the CFTL paper: nine signals of t, and their combinations.

Time runs from 0 to 1 over the simulated span. The windows show the end of it, from a twentieth up to all, so rates are
log-uniform over a wide range and places of events crowd towards t = 1.
"""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import log_uniform, normal, uniform
from fimjax.prior.path import Path, exact

MOST_SIGNALS = 4


def constant(t, k):
    return jnp.full_like(t, k)


def sine(t, a, b):
    return jnp.sin(jnp.pi * a * t + b)


def cosine(t, a, b):
    return jnp.cos(jnp.pi * a * t + b)


def line(t, a, b):
    return a * t + b


def reciprocal_sine(t, a, b):
    """sin(pi a / t + b), for t that stays clear of zero."""
    return jnp.sin(jnp.pi * a / t + b)


def bump(t, a, b, c):
    return a * jnp.exp(-((t - b) ** 2) / c)


def exponential(t, a, b):
    return a * jnp.exp(b * t)


def parabola(t, a, b, c):
    return a * t**2 + b * t + c


def logistic(t, a, b, c):
    return a * jax.nn.sigmoid(b * (t - c))


def all_signals(key: jax.Array, t_N: jax.Array, seasonal_rate: jax.Array) -> jax.Array:
    """One draw [9, N] of each signal, values of order one.

    Args:
      seasonal_rate: the a of sine and cosine in half of the draws, or 0 to draw it always.
    """
    numbers = iter(random.uniform(key, (26,)))

    def amount(scale=1.0):
        return scale * normal(next(numbers))

    def angle():
        return uniform(next(numbers), 0.0, 2 * jnp.pi)

    def rate():
        free, use_season = log_uniform(next(numbers), 1.0, 60.0), next(numbers) < 0.5
        return jnp.where(use_season & (seasonal_rate > 0), seasonal_rate, free)

    def place():
        return 1.0 - next(numbers) ** 2

    growth = uniform(next(numbers), -4.0, 4.0)
    return jnp.stack(
        [
            constant(t_N, amount()),
            sine(t_N, rate(), angle()),
            cosine(t_N, rate(), angle()),
            line(t_N, amount(2.0), amount()),
            # From 0.1 on, the fastest turn is below the grid's Nyquist rate for 400 steps or more.
            reciprocal_sine(t_N + 0.1, log_uniform(next(numbers), 0.2, 4.0), angle()),
            bump(t_N, amount(2.0), place(), log_uniform(next(numbers), 3e-4, 0.3)),
            exponential(t_N, amount(2.0) * jnp.exp(-jnp.maximum(growth, 0.0)), growth),
            parabola(t_N, amount(2.0), amount(2.0), amount()),
            logistic(t_N, amount(2.0), log_uniform(next(numbers), 5.0, 200.0), place()),
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
    numbers = random.uniform(choice_key, (len(signals) + MOST_SIGNALS + 1,))
    chosen = jnp.argsort(numbers[: len(signals)])[:MOST_SIGNALS]
    is_product = numbers[len(signals) : -1] < 1 / 3
    n_signals = 1 + jnp.floor(MOST_SIGNALS * numbers[-1])
    return exact(combine(signals[chosen], n_signals, is_product))
