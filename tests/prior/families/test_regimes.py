"""Level shifts and switching regimes."""

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.prior.families import regimes
from tests.prior.quick import quick_jit


def test_two_state_chain_has_its_probabilities():
    numbers = jax.random.uniform(jax.random.key(2), (2, 200_000))
    chain = np.asarray(regimes.two_state_chain(*numbers, 0.02, 0.06))
    leave_false = chain[1:][~chain[:-1]].mean()
    leave_true = (~chain[1:][chain[:-1]]).mean()
    np.testing.assert_allclose([leave_false, leave_true], [0.02, 0.06], rtol=0.1)


def test_level_shifts_are_few_and_large():
    numbers = jax.random.uniform(jax.random.key(4), (100, 4)).at[:, 2].set(0.9)  # no line
    shifts = quick_jit(jax.vmap(regimes.level_shifts))(
        numbers, *jax.random.uniform(jax.random.key(5), (2, 100, 400)), jnp.zeros((100, 400))
    )
    jumps = np.abs(np.diff(np.asarray(shifts.clean))) > 0
    assert jumps.any(axis=1).mean() > 0.8 and jumps.sum(axis=1).max() < 60
    assert np.abs(np.diff(np.asarray(shifts.clean)))[jumps].mean() > 0.8
