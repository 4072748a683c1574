"""Business cycles."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.effects.cycle import FREQUENCIES, cycle, stochastic_cycle
from tests.prior.effects.apply import QUIET, changed_share

N = 600


def draw(length, width, size, steepness=0.0, season=12, rise=0.0, number=300):
    numbers = jnp.array([length, width, size, steepness])
    spectra = jax.random.uniform(jax.random.key(3), (number, 3, FREQUENCIES))
    return np.asarray(jax.vmap(lambda u: stochastic_cycle(numbers, *u, N, jnp.array(season), jnp.array(rise)))(spectra))


@pytest.mark.parametrize("season", [1, 4, 12])
def test_cycle_returns_after_its_length_and_is_reversed_after_half(season):
    found, length = draw(0.0, 0.0, 0.5, season=season), 4 * season  # the shortest
    correlation = lambda lag: np.mean(found[:, lag:] * found[:, :-lag]) / np.mean(found**2)
    assert correlation(length) > 0.4 and correlation(length // 2) < -0.4


def test_wide_spectrum_loses_its_phase():
    soon, later = (np.mean(draw(0.0, 1.0, 0.5)[:, [0, lag]].prod(axis=1)) for lag in (1, 96))
    assert soon > 0.1 and abs(later) < 0.35 * soon


def test_deviation_is_in_its_range_and_larger_on_a_trend():
    assert draw(0.5, 0.5, 0.0, season=4).std() == pytest.approx(0.15, rel=0.15)
    assert draw(0.5, 0.5, 1.0, season=4).std() == pytest.approx(2.0, rel=0.15)
    on_trend = draw(0.0, 0.0, 0.0, steepness=1.0, season=4, rise=2.0)  # 4 times the slope, 4 seasons long
    assert on_trend.std() == pytest.approx(0.15 + 4.0 * 2.0 * 4.0 / (2 * np.pi), rel=0.15)


def test_share_of_monthly_series_has_cycles_and_daily_series_have_none():
    config = dataclasses.replace(QUIET, cycles=0.5)
    assert 0.42 < changed_share(cycle, config, season=12) < 0.58
    assert changed_share(cycle, config, season=24) == 0
    assert changed_share(cycle, config, season=12, may_add_structure=False) == 0
