"""Intermittent demand."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from fimjax.prior.families import counts
from tests.prior.families.draws import draws
from tests.prior.quick import quick_jit


@pytest.mark.parametrize(
    "mean, shape, law",
    [(4.0, counts.POISSON_SHAPE, stats.poisson(4.0)), (3.0, 0.8, stats.nbinom(0.8, 0.8 / 3.8))],
    ids=["poisson", "negative_binomial"],
)
def test_count_quantiles(mean, shape, law):
    levels = np.linspace(0.004, 0.991, 80)
    actual = quick_jit(counts.negative_binomial_quantile)(jnp.array(levels, jnp.float32), jnp.full(80, mean), shape)
    np.testing.assert_array_equal(actual, law.ppf(levels))


def test_counts_are_whole_not_negative_and_often_zero():
    path = draws(counts.draw, 300, season=7)
    noisy = np.asarray(path.noisy)
    assert (noisy >= 0).all() and (noisy == np.round(noisy)).all() and noisy.max() <= counts.MAX_COUNT
    zeros = (noisy == 0).mean(axis=1)
    assert zeros.max() > 0.8 and zeros.min() < 0.2 and 0.3 < zeros.mean() < 0.8
    assert (np.asarray(path.clean) > 0).all()
    # Clean values are the expected counts, so the totals agree.
    np.testing.assert_allclose(noisy.sum() / np.asarray(path.clean).sum(), 1.0, atol=0.05)
