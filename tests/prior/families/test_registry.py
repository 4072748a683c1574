"""All families: the registry, finite values, another path for another key."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import PriorWeights
from fimjax.prior.families import FAMILIES
from tests.examples import ALL_EFFECTS
from tests.prior.quick import fair_jit

STEPS = 480
CHUNK = 1_000


def test_names_are_those_of_the_weights_in_the_same_order():
    assert list(FAMILIES) == [f.name for f in dataclasses.fields(PriorWeights)]


@pytest.mark.parametrize("name", FAMILIES)
def test_ten_thousand_draws_are_finite_float32_and_differ(name):
    seasons = np.resize([*ALL_EFFECTS.seasons, 168, 2], CHUNK).astype(np.int32)

    @fair_jit
    def draw(keys):
        times = jnp.arange(STEPS, dtype=jnp.float32)
        if FAMILIES[name].traits.is_continuous:
            times = times + jax.random.uniform(jax.random.key(9), times.shape, minval=-0.45, maxval=0.45)
        path = jax.vmap(FAMILIES[name].draw, in_axes=(0, None, 0))(keys, times, seasons)
        largest = jnp.maximum(jnp.abs(path.clean).max(), jnp.abs(path.noisy).max())
        return path, largest

    for chunk in jax.random.split(jax.random.key(0), 10):
        path, largest = draw(jax.random.split(chunk, CHUNK))
        assert np.isfinite(largest) and largest < 1e5
    assert path.clean.shape == path.noisy.shape == (CHUNK, STEPS)
    assert path.clean.dtype == path.noisy.dtype == jnp.float32
    # No two of a hundred paths agree (zeros are common among counts, equal histories are not).
    assert len(np.unique(np.asarray(path.clean)[:100], axis=0)) == 100
