"""Decomposition: a season without noise is found exactly, and noise is not taken for a season."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.classical.decomposition import decompose, phase_means

B = 16


def times(n, h):
    past, future = np.arange(1.0 - n, 1.0, dtype=np.float32), np.arange(1.0, h + 1, dtype=np.float32)
    return np.tile(past, (B, 1)), np.tile(future, (B, 1))


def rough_seasons(season, seed=0):
    """Random patterns [B, season] with mean 0 and standard deviation 1."""
    pattern = np.random.default_rng(seed).normal(size=(B, season))
    pattern -= pattern.mean(axis=1, keepdims=True)
    return pattern / pattern.std(axis=1, keepdims=True)


def run_decompose(values, steps, query_steps, season, mask=None):
    mask = np.ones(values.shape, bool) if mask is None else mask
    found = jax.jit(decompose)(values.astype(np.float32), steps, mask, jnp.full(B, season), query_steps)
    return tuple(map(np.asarray, found))


@pytest.mark.parametrize("season, seasons", [(4, 16), (12, 10), (24, 16), (52, 4)])
def test_a_season_without_noise_continues(season, seasons):
    steps, query_steps = times(seasons * season, 2 * season)
    pattern = rough_seasons(season)
    at = lambda t: np.take_along_axis(pattern, t.astype(int) % season, axis=1)
    _, past, future = run_decompose(at(steps), steps, query_steps, season)
    for found, truth in ((past, at(steps)), (future, at(query_steps))):
        assert np.abs(found - truth).mean() < (0.03 if seasons > 4 else 0.12)


def test_a_season_is_found_from_half_of_the_points():
    """Half of the hours are missing at random: the rest suffices, and masked values are not read."""
    steps, query_steps = times(16 * 24, 24)
    pattern, mask = rough_seasons(24), np.random.default_rng(1).random((B, 16 * 24)) < 0.5
    at = lambda t: np.take_along_axis(pattern, t.astype(int) % 24, axis=1)
    _, _, future = run_decompose(np.where(mask, at(steps), 1e6), steps, query_steps, 24, mask)
    assert np.abs(future - at(query_steps)).mean() < 0.15


@pytest.mark.parametrize("season, n", [(24, 96), (52, 104), (24, 384)])
def test_noise_is_not_taken_for_a_season(season, n):
    steps, query_steps = times(n, season)
    errors = np.random.default_rng(2).normal(size=(B, n)).astype(np.float32)
    seen, expected = jax.jit(phase_means)(errors, steps, np.ones_like(errors, bool), jnp.full(B, season), query_steps)
    # The standard deviation of a plain mean of so many errors.
    plain = np.sqrt(season / n)
    assert np.std(expected) < 0.5 * plain and np.std(seen) < 0.5 * plain


def test_hourly_series_have_a_weekly_season():
    steps, query_steps = times(16 * 24, 7 * 24)
    is_off = lambda t: (np.floor(t / 24) % 7) < 2
    at = lambda t: np.sin(2 * np.pi * t / 24) * np.where(is_off(t), 0.3, 1.0) - 0.5 * is_off(t)
    noise = 0.05 * np.random.default_rng(3).normal(size=steps.shape)
    slow, past, future = run_decompose(at(steps) + noise, steps, query_steps, 24)
    level = (at(steps) - past)[:, -24 * 7 :].mean(axis=1, keepdims=True)
    assert np.abs(future + level - at(query_steps)).mean() < 0.15
    # Only seasons of a day have weeks.
    slow, past, future = run_decompose(at(steps) + noise, steps, query_steps, 23)
    assert np.abs(future + level - at(query_steps)).mean() > 0.3


def test_a_single_season_is_shrunk():
    """After one season, noise and season cannot be distinguished."""
    steps, query_steps = times(12, 12)
    pattern = rough_seasons(12)
    _, past, _ = run_decompose(pattern, steps, query_steps, 12)
    assert np.isfinite(past).all()
    assert np.std(past) < 0.95 * np.std(pattern)
