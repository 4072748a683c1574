"""Steady growth."""

import dataclasses

import jax
import numpy as np
import pytest

from fimjax.prior.effects.growth import MIN_RISE, PIECEWISE_SHARE, YEARLY_RISE_FACTOR, growth, slopes
from tests.prior.effects.apply import QUIET, WAVE, WAVE_DEVIATION, N, apply, changed_share


def test_straight_growth_is_mostly_upwards_within_its_range(monkeypatch):
    monkeypatch.setattr("fimjax.prior.effects.growth.PIECEWISE_SHARE", 0.0)
    config = dataclasses.replace(QUIET, growth=0.41)  # no other test has this value, so nothing compiled is reused
    clean, _, state = apply(growth, config, season=1)
    added = (clean - np.asarray(WAVE)) / WAVE_DEVIATION
    rises = added[np.abs(added[:, -1]) > 1e-3, -1]
    assert 0.33 < len(rises) / len(added) < 0.48 and 0.8 < (rises > 0).mean() < 0.98
    low, high = YEARLY_RISE_FACTOR * MIN_RISE, YEARLY_RISE_FACTOR * config.max_rise
    assert low * 0.99 <= np.abs(rises).min() and np.abs(rises).max() <= high * 1.01
    assert np.abs(np.diff(added, n=2)).max() < 1e-3
    np.testing.assert_allclose(state.rise / WAVE_DEVIATION, added[:, -1], atol=1e-3)
    np.testing.assert_array_equal(state.base, np.broadcast_to(WAVE, clean.shape))


def test_slopes_change_in_their_share_and_average_one():
    numbers, change_u, slope_u = (
        jax.random.uniform(jax.random.key(i), (400, size)) for i, size in ((8, 3), (9, N), (10, N))
    )
    changes = {}
    for season in (1, 12):
        found = np.asarray(jax.vmap(slopes, in_axes=(0, 0, 0, None))(numbers, change_u, slope_u, season))
        is_piecewise = (found != 1.0).any(axis=1)
        assert abs(is_piecewise.mean() - PIECEWISE_SHARE) < 0.08 and abs(found.mean() - 1.0) < 0.1
        changes[season] = (np.diff(found[is_piecewise], axis=1) != 0).sum(axis=1).mean()
    np.testing.assert_allclose(changes[1] / changes[12], 12**0.5, rtol=0.1)
    assert 20 < changes[1] < 40


@pytest.mark.parametrize("season, share", [(1, 0.9), (4, 0.64), (12, 0.48), (168, 0.11)])
def test_longer_steps_grow_more_often(season, share):
    assert abs(changed_share(growth, dataclasses.replace(QUIET, growth=0.9), season=season) - share) < 0.06


def test_families_without_added_structure_do_not_grow():
    assert changed_share(growth, dataclasses.replace(QUIET, growth=0.9), season=1, may_add_structure=False) == 0
