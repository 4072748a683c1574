"""Hours: days are alike, some days of a week differ, the same ones in every week, and only where a season is a day."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.prior.effects.calendar import DAY_SIZES, DAYS, counts_hours, with_days, with_weeks
from fimjax.prior.path import exact
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
    assert counts_hours(jnp.array([24, 48, 96])).all() and not counts_hours(jnp.array([1, 4, 7, 12, 52, 168])).any()
    config = dataclasses.replace(QUIET, weeks=0.4)
    changed = lambda **what: (measure(config, **what).clean != measure(QUIET, **what).clean).any(axis=1).mean()
    assert 0.3 < changed(season=24) < 0.5
    assert changed(season=12) == 0 and changed(season=24, may_grow=False) == 0


def test_a_day_repeats_and_is_as_large_as_asked():
    draw_day = lambda key, size: with_days(key, size, exact(jnp.zeros(24 * 7)), 1.0, 24).clean
    days = np.asarray(jax.vmap(draw_day, in_axes=(0, None))(jax.random.split(jax.random.key(0), 50), 0.5))
    np.testing.assert_allclose(days[:, 24:], days[:, :-24], atol=1e-5)
    assert np.median(days.std(axis=1)) == pytest.approx(np.sqrt(np.prod(DAY_SIZES)) * 0.7, rel=0.3)


def test_hours_that_follow_the_clock_have_strong_seasons_and_errors():
    config = dataclasses.replace(QUIET, days=1.0)
    found = measure(config, season=24)
    by_day = lambda x: x[:, : x.shape[1] // 24 * 24].reshape(len(x), -1, 24)
    assert np.median(by_day(found.clean).mean(axis=1).std(axis=1)) > 2 * np.asarray(measure(QUIET).clean).std()
    assert (found.noisy != found.clean).any(axis=1).all() and (measure(config).noisy == measure(config).clean).all()
