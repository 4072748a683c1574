"""Booms and slumps: as long, as large and as regular as asked for, and for series by the year only."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.effects.cycle import WAVES, cycle, sees_cycles
from tests.prior.test_observation import QUIET, WAVE, measure

N = 600


def draw(length, width, size, steepness=0.0, season=12, rise=0.0, number=300):
    numbers = jnp.array([length, width, size, steepness])
    numbers_3F = jax.random.uniform(jax.random.key(3), (number, 3, WAVES))
    return np.asarray(jax.vmap(lambda u: cycle(numbers, u, N, jnp.array(season), jnp.array(rise)))(numbers_3F))


@pytest.mark.parametrize("season", [1, 4, 12])
def test_it_comes_back_after_its_length_and_is_low_in_between(season):
    seasons = 4.0  # the shortest
    found, period = draw(0.0, 0.0, 0.5, season=season), round(seasons * season)
    correlation = lambda lag: np.mean(found[:, lag:] * found[:, :-lag]) / np.mean(found**2)
    assert correlation(period) > 0.4 and correlation(period // 2) < -0.4


def test_a_wide_spectrum_forgets():
    at_once, later = (np.mean(draw(0.0, 1.0, 0.5)[:, [0, lag]].prod(axis=1)) for lag in (1, 96))
    assert at_once > 0.1 and abs(later) < 0.35 * at_once


def test_its_size_is_as_asked_and_more_where_there_is_a_rise():
    assert draw(0.5, 0.5, 0.0, season=4).std() == pytest.approx(0.15, rel=0.15)
    assert draw(0.5, 0.5, 1.0, season=4).std() == pytest.approx(2.0, rel=0.15)
    steep = draw(0.0, 0.0, 0.0, steepness=1.0, season=4, rise=2.0)  # slopes 4 times as large, 4 seasons a turn
    assert steep.std() == pytest.approx(0.15 + 4.0 * 2.0 * 4.0 / (2 * np.pi), rel=0.15)


def test_years_and_their_parts_have_cycles_and_days_have_none():
    assert sees_cycles(jnp.array([1, 4, 12])).all() and not sees_cycles(jnp.array([7, 24, 52, 168])).any()
    config = dataclasses.replace(QUIET, cycles=0.5)
    has_cycle = lambda **what: (measure(config, **what).clean != np.asarray(WAVE)).any(axis=1).mean()
    assert 0.42 < has_cycle(season=12) < 0.58
    assert has_cycle(season=24) == 0 and has_cycle(season=12, may_grow=False) == 0
