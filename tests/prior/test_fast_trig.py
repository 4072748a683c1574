"""Cosines of turns against NumPy's in double precision."""

import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.fast_trig import cos_turns, exp_turns


@pytest.mark.parametrize("most", [0.5, 1.0, 1_000.0])
def test_cosine_is_exact_to_rounding_however_many_turns(most):
    turns = np.random.default_rng(0).uniform(-most, most, 100_000).astype(np.float32)
    np.testing.assert_allclose(cos_turns(jnp.array(turns)), np.cos(2 * np.pi * turns.astype(np.float64)), atol=2e-7)


def test_quarters_of_a_turn():
    quarters = jnp.arange(-8, 9) / 4
    np.testing.assert_allclose(cos_turns(quarters), [1, 0, -1, 0] * 4 + [1], atol=1e-7)


def test_the_point_on_the_circle():
    turns = np.linspace(-1, 1, 10_001, dtype=np.float32)
    np.testing.assert_allclose(exp_turns(jnp.array(turns)), np.exp(2j * np.pi * turns.astype(np.float64)), atol=4e-7)
