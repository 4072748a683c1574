import jax
import jax.numpy as jnp
import numpy as np

from fimjax.config import MAX_SEASON
from fimjax.prior.seasonal import repeat, seasonal_pattern
from tests.prior.quick import quick_jit


def test_pattern_has_zero_mean_over_its_season_and_nothing_beyond():
    seasons = jnp.arange(1, MAX_SEASON + 1)
    keys = jax.random.split(jax.random.key(0), MAX_SEASON)
    pattern = np.asarray(quick_jit(jax.vmap(seasonal_pattern))(keys, seasons))
    for season, row in zip(np.asarray(seasons), pattern):
        assert abs(row[:season].mean()) < 1e-5 and not row[season:].any()
    assert (np.abs(pattern[1:]).max(axis=1) > 0.01).all()


def test_repeated_pattern_repeats():
    values = repeat(seasonal_pattern(jax.random.key(1), jnp.int32(7)), jnp.int32(7), 50)
    np.testing.assert_array_equal(values[7:], values[:-7])
    assert len(np.unique(values)) == 7


def test_a_season_of_one_is_none():
    assert not repeat(seasonal_pattern(jax.random.key(2), jnp.int32(1)), jnp.int32(1), 50).any()
