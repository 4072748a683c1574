"""Chebyshev expansions."""

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.prior.families import chebyshev
from tests.prior.quick import quick_jit


def test_chebyshev_series_is_numpys():
    coefficients = np.random.default_rng(0).normal(size=chebyshev.MAX_DEGREE + 1)
    x = np.linspace(-1, 1, 301)
    expected = np.polynomial.chebyshev.chebval(x, coefficients)
    actual = quick_jit(chebyshev.chebyshev_series)(jnp.array(coefficients, jnp.float32), jnp.array(x, jnp.float32))
    np.testing.assert_allclose(actual, expected, atol=2e-3)


def test_chebyshev_draws_have_few_turns_and_sometimes_many():
    draw = quick_jit(jax.vmap(lambda key: chebyshev.draw(key, jnp.arange(4_000.0), jnp.int32(1)).clean))
    paths = np.asarray(draw(jax.random.split(jax.random.key(0), 64)), np.float64)
    rises = np.diff(paths[:, ::8]) > 0
    turns = (rises[:, 1:] != rises[:, :-1]).sum(axis=1)
    assert turns.max() < chebyshev.MAX_DEGREE and turns.max() > 10 and turns.min() <= 3
