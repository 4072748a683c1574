"""A series taken apart: seasons without errors are told without errors, errors are not told for seasons."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.classical.decomposition import phase_means, seasonal_parts

B = 16


def times(n, h):
    past, future = np.arange(1.0 - n, 1.0, dtype=np.float32), np.arange(1.0, h + 1, dtype=np.float32)
    return np.tile(past, (B, 1)), np.tile(future, (B, 1))


def rough_seasons(season, seed=0):
    """A pattern [B, season] of no particular shape, of deviation 1 and mean 0."""
    pattern = np.random.default_rng(seed).normal(size=(B, season))
    pattern -= pattern.mean(axis=1, keepdims=True)
    return pattern / pattern.std(axis=1, keepdims=True)


def season_ahead(values, steps, ahead, season, mask=None):
    mask = np.ones(values.shape, bool) if mask is None else mask
    found = jax.jit(seasonal_parts)(values.astype(np.float32), steps, mask, jnp.full(B, season), ahead)
    return tuple(map(np.asarray, found))


@pytest.mark.parametrize("season, seasons", [(4, 16), (12, 10), (24, 16), (52, 4)])
def test_a_season_without_errors_goes_on(season, seasons):
    steps, ahead = times(seasons * season, 2 * season)
    pattern = rough_seasons(season)
    at = lambda t: np.take_along_axis(pattern, t.astype(int) % season, axis=1)
    _, past, future = season_ahead(at(steps), steps, ahead, season)
    for found, truth in ((past, at(steps)), (future, at(ahead))):
        assert np.abs(found - truth).mean() < (0.03 if seasons > 4 else 0.12)


def test_what_is_left_is_told_from_each_half_of_the_points():
    """Gaps of half of the hours, other ones in each week: a mean has what it needs, and nothing of what is masked."""
    steps, ahead = times(16 * 24, 24)
    pattern, mask = rough_seasons(24), np.random.default_rng(1).random((B, 16 * 24)) < 0.5
    at = lambda t: np.take_along_axis(pattern, t.astype(int) % 24, axis=1)
    _, _, future = season_ahead(np.where(mask, at(steps), 1e6), steps, ahead, 24, mask)
    assert np.abs(future - at(ahead)).mean() < 0.15


@pytest.mark.parametrize("season, n", [(24, 96), (52, 104), (24, 384)])
def test_errors_are_not_told_for_a_season(season, n):
    steps, ahead = times(n, season)
    errors = np.random.default_rng(2).normal(size=(B, n)).astype(np.float32)
    seen, expected = phase_means(errors, steps, np.ones_like(errors, bool), jnp.full(B, season), ahead)
    # A plain mean of so many errors would have that deviation.
    plain = np.sqrt(season / n)
    assert np.std(expected) < 0.5 * plain and np.std(seen) < 0.5 * plain


def test_days_of_a_week_differ():
    steps, ahead = times(16 * 24, 7 * 24)
    is_off = lambda t: (np.floor(t / 24) % 7) < 2
    at = lambda t: np.sin(2 * np.pi * t / 24) * np.where(is_off(t), 0.3, 1.0) - 0.5 * is_off(t)
    noise = 0.05 * np.random.default_rng(3).normal(size=steps.shape)
    slow, past, future = season_ahead(at(steps) + noise, steps, ahead, 24)
    level = (at(steps) - past)[:, -24 * 7 :].mean(axis=1, keepdims=True)
    assert np.abs(future + level - at(ahead)).mean() < 0.15
    # Nobody looks for weeks of seasons that are no days.
    slow, past, future = season_ahead(at(steps) + noise, steps, ahead, 23)
    assert np.abs(future + level - at(ahead)).mean() > 0.3


def test_one_season_is_shrunk_as_much_as_the_ridge_says():
    """With one season seen, errors and season cannot be told apart: most of it is left to the level."""
    steps, ahead = times(12, 12)
    pattern = rough_seasons(12)
    _, past, _ = season_ahead(pattern, steps, ahead, 12)
    assert np.isfinite(past).all()
    assert np.std(past) < 0.95 * np.std(pattern)
