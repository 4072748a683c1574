"""Building blocks of random processes."""

import jax.numpy as jnp
import numpy as np

from fimjax.prior.processes import latest_event, mean_reversion
from tests.prior.quick import quick_jit


def test_latest_event_is_at_or_before_each_step():
    is_event = jnp.array([False, False, True, False, True, True, False])
    np.testing.assert_array_equal(latest_event(is_event), [0, 0, 2, 2, 4, 5, 5])


def test_mean_reversion_is_its_recursion():
    rng = np.random.default_rng(3)
    reversion, mean, noise = rng.uniform(size=60), rng.normal(size=60), rng.normal(size=60)
    x, expected = mean[0], []
    for a, m, e in zip(reversion, mean, noise):
        x = x + a * (m - x) + e
        expected.append(x)
    actual = quick_jit(mean_reversion)(*(jnp.array(v, jnp.float32) for v in (reversion, mean, noise)))
    np.testing.assert_allclose(actual, expected, atol=1e-4)
