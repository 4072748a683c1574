"""What follows from the length of a step."""

import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.timescale import (
    YEARLY_SHARE_RISING,
    growth_frequency,
    is_day_season,
    is_monthly_or_longer,
    share_rising,
    timescale,
    trend_scale,
    yearly_factor,
)

SEASONS = jnp.array([1, 4, 12, 52, 7])  # years, quarters, months, weeks, days


@pytest.mark.parametrize("season, steps", [(1, 1), (4, 4), (12, 12), (52, 52), (7, 100), (24, 100), (168, 100)])
def test_timescale_is_one_over_the_root_of_the_steps_per_year(season, steps):
    np.testing.assert_allclose(timescale(jnp.array(season)), steps**-0.5, rtol=1e-6)


def test_kinds_of_steps():
    assert is_monthly_or_longer(jnp.array([1, 4, 12])).all()
    assert not is_monthly_or_longer(jnp.array([7, 24, 52, 168])).any()
    assert is_day_season(jnp.array([24, 48, 96])).all()
    assert not is_day_season(jnp.array([1, 4, 7, 12, 52, 168])).any()


def test_trends_are_weaker_and_growth_is_rarer_the_shorter_a_step():
    found = trend_scale(SEASONS)
    assert found[0] == 1 and (np.diff(found) < 0).all() and found[-1] > 0.1
    np.testing.assert_allclose(growth_frequency(SEASONS), [1.0, 0.71, 0.54, 0.21, 0.126], atol=0.006)


def test_most_yearly_trends_rise_and_daily_ones_hardly_more_than_half():
    yearly = YEARLY_SHARE_RISING
    np.testing.assert_allclose(share_rising(SEASONS), [yearly, yearly, 0.754, 0.651, 0.621], atol=0.006)
    assert share_rising(jnp.array(1), 0.6) == pytest.approx(0.6)


def test_yearly_factor_is_one_for_months_and_shorter_steps():
    found = yearly_factor(jnp.array([1, 4, 12, 168]), 3.0)
    np.testing.assert_allclose(found, [3.0, 3 ** (1 / 16), 3 ** (1 / 144), 1.0001], rtol=1e-3)
