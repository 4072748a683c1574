"""Packing slots into rows and back, and the gradients of both."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.packing import merge_heads, pack, pack_slots, split_heads, spread, unpack

MASK = jnp.array([[True, False, True], [False, False, False], [True, True, True]])


def numbers(*shape, seed=0):
    return jax.random.normal(jax.random.key(seed), shape)


def test_rows_are_the_filled_slots_in_their_order():
    packing = pack_slots(MASK, 7)
    np.testing.assert_array_equal(packing.slots, [0, 2, 6, 7, 8, 9, 9])
    np.testing.assert_array_equal(packing.rows, [[0, 7, 1], [7, 7, 7], [2, 3, 4]])


@pytest.mark.parametrize("capacity", [5, 7, 9])
def test_unpacking_undoes_packing(capacity):
    packing, x = pack_slots(MASK, capacity), numbers(3, 3, 2)
    rows = packing.pack(x)
    np.testing.assert_array_equal(rows[:5], x[MASK])
    assert not rows[5:].any()
    np.testing.assert_array_equal(packing.unpack(rows), jnp.where(MASK[..., None], x, 0.0))


def test_slots_beyond_the_capacity_are_lost():
    packing = pack_slots(MASK, 3)
    back = packing.unpack(packing.pack(jnp.ones((3, 3))))
    np.testing.assert_array_equal(back, [[1, 0, 1], [0, 0, 0], [1, 0, 0]])


def test_heads_are_split_as_without_packing():
    packing, x = pack_slots(MASK, 7), jnp.where(MASK[..., None], numbers(3, 3, 12), 0.0)
    split = split_heads(packing.pack(x), 2, 3, packing)
    for ours, plain in zip(split, split_heads(x, 2, 3, None), strict=True):
        np.testing.assert_array_equal(ours, plain)
    np.testing.assert_array_equal(merge_heads(split[1], packing), packing.pack(x)[:, 6:])


def test_spread_repeats_the_entry_of_a_set_for_its_rows():
    packing, x = pack_slots(MASK, 7), numbers(3, 2)
    expected = jnp.concatenate([x[jnp.array([0, 0, 2, 2, 2])], jnp.zeros((2, 2))])
    np.testing.assert_array_equal(spread(x, packing), expected)
    assert spread(x, None).shape == (3, 1, 2)


@pytest.mark.parametrize("operation", ["pack", "unpack", "split", "merge", "spread"])
def test_gradients_are_those_of_plain_indexing(operation):
    packing = pack_slots(MASK, 7)
    places = jnp.array([0, 2, 6, 7, 8])

    def plain_unpack(x):
        return jnp.zeros((9, *x.shape[1:])).at[places].set(x[:5]).reshape(3, 3, *x.shape[1:])

    def plain_pack(x):
        return jnp.concatenate([x.reshape(9, -1)[places], jnp.zeros((2, x.size // 9))])

    plain_split = lambda x: split_heads(plain_unpack(x), 2, 2, None)
    plain_spread = lambda x: plain_pack(jnp.repeat(x[:, None], 3, axis=1))
    ours, plain, x = {
        "pack": (lambda x: pack(x, packing), plain_pack, numbers(3, 3, 4)),
        "unpack": (lambda x: unpack(x, packing), plain_unpack, numbers(7, 4)),
        "split": (lambda x: split_heads(x, 2, 2, packing), plain_split, numbers(7, 8)),
        "merge": (lambda x: merge_heads(x, packing), lambda x: plain_pack(merge_heads(x, None)), numbers(3, 2, 3, 4)),
        "spread": (lambda x: spread(x, packing), plain_spread, numbers(3, 4)),
    }[operation]
    weights = jax.tree.map(lambda y: numbers(*y.shape, seed=1), jax.eval_shape(ours, x))
    weighted = lambda f: lambda x: sum(jnp.sum(a * b) for a, b in zip(jax.tree.leaves(f(x)), jax.tree.leaves(weights)))
    np.testing.assert_allclose(jax.grad(weighted(ours))(x), jax.grad(weighted(plain))(x), rtol=1e-6)
