"""Operations are counted as by hand."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.flops import matmul_flops
from benchmarks.scaling import resize
from fimjax.prior.sampler import sample_group
from tests.training.examples import PRIOR, WINDOWS

A, B = jnp.ones((3, 4)), jnp.ones((4, 5))
ONCE = 2 * 3 * 4 * 5


def test_a_product_and_its_gradient():
    assert matmul_flops(jnp.matmul, A, B) == ONCE
    assert matmul_flops(jax.grad(lambda a, b: (a @ b).sum(), argnums=(0, 1)), A, B) == 3 * ONCE


def test_batches_count_and_element_wise_operations_do_not():
    batched = lambda a, b: jnp.tanh(jnp.einsum("zij,zjk->zik", a, b))
    assert matmul_flops(batched, A[None].repeat(7, 0), B[None].repeat(7, 0)) == 7 * ONCE


def test_operations_inside_calls_and_loops_count():
    inside = lambda a, b: jax.jit(jnp.matmul)(a, b)
    assert matmul_flops(inside, A, B) == ONCE
    scanned = lambda a, b: jax.lax.scan(lambda x, _: (x + inside(a, b), None), jnp.zeros((3, 5)), length=6)[0]
    assert matmul_flops(scanned, A, B) == 6 * ONCE
    either = lambda a, b: jax.lax.cond(a[0, 0] > 0, jnp.matmul, lambda a, b: jnp.zeros((3, 5)), a, b)
    assert matmul_flops(either, A, B) == ONCE


def test_batches_are_cut_and_repeated_along_one_axis():
    sample = jax.jit(lambda key: sample_group(key, PRIOR, WINDOWS))(jax.random.key(0))
    longer = resize(sample, 2, 12)
    assert longer.noisy.shape == (4, 4, 12) and longer.season.shape == (4,)
    np.testing.assert_array_equal(longer.noisy[..., 8:], sample.noisy[..., :4])
    assert resize(sample, 0, 2).origin.shape == (2,) and resize(sample, 1, 6).times.shape == (4, 6, 8)
