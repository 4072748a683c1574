"""The quantile functions against scipy's distributions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from fimjax.prior import distributions
from tests.prior.quick import quick_jit

N = 20_000


@pytest.mark.parametrize(
    "function, distribution",
    [
        (lambda u: distributions.log_uniform(u[0], 0.1, 10.0), stats.loguniform(0.1, 10.0)),
        (lambda u: distributions.normal(u[0]), stats.norm()),
        (lambda u: distributions.beta(u[:5], u[5:], 2, 5), stats.beta(2, 5)),
        (lambda u: distributions.beta(u[:5], u[5:], 5, 1), stats.beta(5, 1)),
        (lambda u: distributions.beta_half_three(u[:4]), stats.beta(0.5, 3)),
    ],
    ids=["log_uniform", "normal", "beta_2_5", "beta_5_1", "beta_half_three"],
)
def test_distribution_is_scipys(function, distribution):
    drawn = quick_jit(jax.vmap(function))(jax.random.uniform(jax.random.key(1), (N, 10)))
    assert stats.kstest(np.asarray(drawn), distribution.cdf).statistic < 1.6 / np.sqrt(N)


@pytest.mark.parametrize("heavy_share, distribution", [(0.0, stats.norm()), (1.0, stats.t(3, scale=3**-0.5))])
def test_innovations_are_normal_or_students_t(heavy_share, distribution):
    drawn = np.asarray(distributions.innovations(jax.random.key(2), N, heavy_share))
    assert stats.kstest(drawn, distribution.cdf).statistic < 1.6 / np.sqrt(N)
    assert np.abs(drawn).max() <= distributions.HEAVY_TAIL_BOUND


def test_sign_biased_normal_is_positive_in_its_share():
    drawn = np.asarray(distributions.sign_biased_normal(jax.random.uniform(jax.random.key(3), (N,)), 0.85))
    np.testing.assert_allclose((drawn > 0).mean(), 0.85, atol=0.01)
    assert stats.kstest(np.abs(drawn), stats.halfnorm().cdf).statistic < 1.6 / np.sqrt(N)


def test_uniform_numbers_have_their_shapes_and_are_all_different():
    arrays = distributions.uniform_numbers(jax.random.key(4), (2,), (3, 4), ())
    assert [x.shape for x in arrays] == [(2,), (3, 4), ()]
    assert len(np.unique(np.concatenate([np.ravel(x) for x in arrays]))) == 15


def test_extreme_numbers_give_finite_values():
    ends = jnp.array([0.0, 1.0 - 2.0**-23])
    sign_biased = lambda u: distributions.sign_biased_normal(u, 0.85)
    for function in (distributions.normal, sign_biased, distributions.exponential):
        assert jnp.isfinite(function(ends)).all()
