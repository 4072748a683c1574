"""Weeks: some days differ, the same ones in every week, and only where a season is a day."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.prior.path import exact
from fimjax.prior.week import DAYS, sees_weeks, with_weeks
from tests.prior.test_observation import QUIET, measure

HOURS = jnp.cos(2 * jnp.pi * jnp.arange(24 * 7 * 3) / 24)


def draw(**numbers):
    names = ("begin", "count", "size", "shift", "differs")
    given = [numbers.get(name, 0.5) for name in names]
    own = np.linspace(0.1, 0.9, DAYS)
    found = with_weeks(jnp.array([*given, *own]), exact(HOURS), 0.0, 1.0, 24)
    return np.asarray(found.noisy).reshape(3, DAYS, 24)


def test_every_week_is_the_same_and_two_days_in_it_are_off():
    weeks = draw(begin=0.0, size=0.0, differs=0.9)
    np.testing.assert_allclose(weeks[1:], weeks[:-1], atol=1e-5)
    heights = np.ptp(weeks[0], axis=1)
    np.testing.assert_allclose(heights, [0.4, 0.4] + [2.0] * 5, atol=1e-5)
    assert (np.ptp(draw(begin=0.0, count=0.9, size=0.0, differs=0.9)[0], axis=1) < 1.0).sum() == 1


def test_days_off_are_shifted_and_each_day_may_be():
    shifted = draw(begin=0.0, shift=0.9, differs=0.9).mean(axis=(0, 2))
    assert (shifted[:2] > 0.5).all() and np.abs(shifted[2:]).max() < 1e-5
    own = draw(begin=0.0, differs=0.1).mean(axis=(0, 2))
    assert (np.diff(own) > 0.01).all()


def test_a_week_begins_anywhere():
    assert np.abs(draw(begin=0.3, size=0.0) - draw(begin=0.0, size=0.0)).max() > 0.5


def test_days_have_weeks_in_a_share_of_the_series():
    assert sees_weeks(jnp.array([24, 48])).all() and not sees_weeks(jnp.array([1, 4, 7, 12, 52, 168])).any()
    config = dataclasses.replace(QUIET, weeks=0.4)
    changed = lambda **what: (measure(config, **what).clean != measure(QUIET, **what).clean).any(axis=1).mean()
    assert 0.3 < changed(season=24) < 0.5
    assert changed(season=12) == 0 and changed(season=24, may_grow=False) == 0
