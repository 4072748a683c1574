"""Gaussian processes as sums of cosines."""

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.prior.spectral import squared_exponential_process
from tests.prior.quick import fair_jit

DRAWS = 20_000


def test_squared_exponential_process_has_its_kernel():
    times = jnp.array([0.0, 1.3, 4.0, 9.7, 20.0, 26.0])
    draw = fair_jit(jax.vmap(lambda key: squared_exponential_process(key, times, 5.0)))
    paths = draw(jax.random.split(jax.random.key(0), DRAWS))
    lags = np.asarray(times)[:, None] - np.asarray(times)[None, :]
    np.testing.assert_allclose(paths.T @ paths / DRAWS, np.exp(-(lags**2) / (2 * 5.0**2)), atol=0.04)
