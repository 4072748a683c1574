"""Missing observations."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.prior.effects.gaps import STRIDES, draw_observed, ensure_observed
from tests.prior.effects.apply import EVERY_STEP, QUIET, N
from tests.prior.quick import quick_jit


def draw(missing, max_missing=0.75, steps=EVERY_STEP, number=600):
    config = dataclasses.replace(QUIET, missing=missing, max_missing=max_missing)
    observe = quick_jit(jax.vmap(lambda key: draw_observed(key, steps, steps.shape[1], config)))
    return np.asarray(observe(jax.random.split(jax.random.key(3), number)))


def test_gaps_occur_in_their_share_of_the_series():
    assert draw(missing=0.0).all()
    assert 0.3 < (~draw(missing=0.4)[:, 0]).any(axis=1).mean() < 0.5


def test_gaps_are_random_or_strides_or_runs_within_the_limit():
    observed = draw(missing=1.0)[:, 0]
    spacings = [np.unique(np.diff(np.flatnonzero(row))) for row in observed]
    strides = [int(s[0]) for s in spacings if len(s) == 1 and s[0] > 1]
    assert 0.27 < len(strides) / len(observed) < 0.43 and set(strides) == set(STRIDES)
    longest = [np.diff(np.flatnonzero(np.pad(row, 1, constant_values=True))).max() for row in observed]
    assert 0.15 < (np.array(longest) > N / 10).mean() < 0.28  # only runs are so long
    assert (~observed).mean(axis=1).max() < 0.82
    assert (~draw(missing=1.0, max_missing=0.3)).mean(axis=2).max() < 0.4


def test_strides_count_steps_and_not_slots():
    steps = jnp.array([[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]])
    observed = draw(missing=1.0, max_missing=0.5, steps=steps)  # every second step, at random, or runs
    every_second = (observed == observed[:, :, :1]).all(axis=(1, 2)) & (observed[:, 0, 0] != observed[:, 1, 0])
    assert 0.27 < every_second.mean() < 0.43


def test_latest_windows_have_at_least_two_observations():
    valid = jnp.array([[True, True, True, False], [True, True, True, False], [True, True, True, True]])
    observed = jnp.array([[False] * 4, [True, False, False, True], [True, True, False, False]])
    found = ensure_observed(observed, valid)
    np.testing.assert_array_equal(found[0], [False] * 4)  # an early window may be empty
    np.testing.assert_array_equal(found[1], [True, True, True, False])
    np.testing.assert_array_equal(found[2], [True, True, False, False])
