"""The nine signals of Dataset G."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.families import dataset_g
from tests.prior.quick import quick_jit

T = np.linspace(0.05, 1.0, 50, dtype=np.float32)

SIGNALS = {
    "constant": (dataset_g.constant, (0.7,), lambda t, k: 0 * t + k),
    "sine": (dataset_g.sine, (3.0, 0.4), lambda t, a, b: np.sin(np.pi * a * t + b)),
    "cosine": (dataset_g.cosine, (3.0, 0.4), lambda t, a, b: np.cos(np.pi * a * t + b)),
    "line": (dataset_g.line, (-2.0, 0.3), lambda t, a, b: a * t + b),
    "reciprocal_sine": (dataset_g.reciprocal_sine, (0.8, 0.4), lambda t, a, b: np.sin(np.pi * a / t + b)),
    "bump": (dataset_g.bump, (1.5, 0.5, 0.01), lambda t, a, b, c: a * np.exp(-((t - b) ** 2) / c)),
    "exponential": (dataset_g.exponential, (0.2, 1.7), lambda t, a, b: a * np.exp(b * t)),
    "parabola": (dataset_g.parabola, (1.0, -2.0, 0.5), lambda t, a, b, c: a * t**2 + b * t + c),
    "logistic": (dataset_g.logistic, (2.0, 9.0, 0.4), lambda t, a, b, c: a / (1 + np.exp(-b * (t - c)))),
}


@pytest.mark.parametrize("name", SIGNALS)
def test_signal_is_its_formula(name):
    signal, parameters, formula = SIGNALS[name]
    np.testing.assert_allclose(signal(jnp.array(T), *parameters), formula(T.astype(float), *parameters), atol=2e-5)


def test_all_nine_signals_are_drawn_and_of_order_one():
    draw = quick_jit(jax.vmap(lambda key: dataset_g.all_signals(key, jnp.array(T), jnp.float32(0.0))))
    signals = np.abs(np.asarray(draw(jax.random.split(jax.random.key(1), 500))))
    assert signals.shape == (500, len(SIGNALS), len(T))
    largest = signals.max(axis=(0, 2))
    assert (largest < 25).all() and (largest > 0.9).all()


def test_combination_folds_sums_and_products():
    signals = jnp.arange(1.0, 13.0).reshape(4, 3)
    is_product = jnp.array([True, False, True, False])
    a, b, c, d = np.asarray(signals)
    np.testing.assert_allclose(dataset_g.combine(signals, 1, is_product), a)
    np.testing.assert_allclose(dataset_g.combine(signals, 3, is_product), (a + b) * c)
    np.testing.assert_allclose(dataset_g.combine(signals, 4, is_product), (a + b) * c + d)


def test_seasonal_rate_gives_the_season():
    times = jnp.arange(121.0)
    rate = 2.0 * 120 / 12
    np.testing.assert_allclose(
        dataset_g.sine(times / 120, rate, 0.3)[12:], dataset_g.sine(times / 120, rate, 0.3)[:-12], atol=1e-4
    )
