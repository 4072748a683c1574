"""Random walk with drift."""

import jax.numpy as jnp
import numpy as np

from fimjax.prior.families import random_walk
from tests.prior.families.draws import draws, lag_one


def test_random_walk_increments_are_uncorrelated_and_drift():
    increments = np.diff(np.asarray(draws(random_walk.draw, 300).noisy, np.float64))
    assert abs(lag_one(increments)) < 0.02
    drift = increments.mean(axis=1)
    assert (np.abs(drift) > 0.2).sum() > 10 and (np.abs(drift) < 0.1).sum() > 100
    assert (np.abs(increments).max(axis=1) > 5.0).sum() > 30  # the heavy-tailed ones


def test_walk_is_a_sum():
    np.testing.assert_allclose(random_walk.walk(jnp.array([1.0, -2.0, 4.0]), 0.5), [1.5, 0.0, 4.5])
