"""Fast cosines against NumPy's in double precision."""

import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.fast_trig import cos_2pi, exp_2pi_i


@pytest.mark.parametrize("most", [0.5, 1.0, 1_000.0])
def test_cosine_is_exact_to_rounding_for_large_arguments(most):
    x = np.random.default_rng(0).uniform(-most, most, 100_000).astype(np.float32)
    np.testing.assert_allclose(cos_2pi(jnp.array(x)), np.cos(2 * np.pi * x.astype(np.float64)), atol=2e-7)


def test_quarters_of_a_period():
    quarters = jnp.arange(-8, 9) / 4
    np.testing.assert_allclose(cos_2pi(quarters), [1, 0, -1, 0] * 4 + [1], atol=1e-7)


def test_exponential_lies_on_the_unit_circle():
    x = np.linspace(-1, 1, 10_001, dtype=np.float32)
    np.testing.assert_allclose(exp_2pi_i(jnp.array(x)), np.exp(2j * np.pi * x.astype(np.float64)), atol=4e-7)
