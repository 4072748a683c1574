"""Years have trends, days have errors."""

import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.timescale import UPWARD, drift, of_years, pace, trend_scale, upward


@pytest.mark.parametrize("season, steps", [(1, 1), (4, 4), (12, 12), (52, 52), (7, 100), (24, 100), (168, 100)])
def test_drift_shows_with_one_over_the_root_of_the_steps_a_year(season, steps):
    np.testing.assert_allclose(pace(jnp.array(season)), steps**-0.5, rtol=1e-6)


def test_momentum_is_whole_for_years_and_falls():
    found = trend_scale(jnp.array([1, 4, 12, 52, 7]))
    assert found[0] == 1 and (np.diff(found) < 0).all() and found[-1] > 0.1


def test_drift_is_for_years_and_falls():
    np.testing.assert_allclose(drift(jnp.array([1, 4, 12, 52, 7])), [1.0, 0.71, 0.54, 0.21, 0.126], atol=0.006)


def test_trends_of_years_rise_and_those_of_days_hardly_lean():
    found = upward(jnp.array([1, 4, 12, 52, 7]))
    np.testing.assert_allclose(found, [UPWARD, UPWARD, 0.754, 0.651, 0.621], atol=0.006)
    assert upward(jnp.array(1), 0.6) == pytest.approx(0.6)


def test_what_years_have_more_of_quarters_hardly_have():
    np.testing.assert_allclose(
        of_years(jnp.array([1, 4, 12, 168]), 3.0), [3.0, 3 ** (1 / 16), 3 ** (1 / 144), 1.0001], rtol=1e-3
    )
