"""Seasons, window lengths, histories and times of single series."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.config import PriorConfig, WindowConfig
from fimjax.prior.layout import MAX_JITTER, MAX_STEPS_WITHOUT_SEASON, draw_layout
from tests.prior.quick import quick_jit

CONFIG = PriorConfig(short_history=0.6, irregular=0.2)
WINDOWS = WindowConfig(count=5, slots=128, min_steps=4, max_steps=96, min_history=3)
NUMBER = 4_000


@functools.cache
def layouts(config=CONFIG, seasons=(1,), is_continuous=True):
    padded = jnp.array([*seasons, 0, 0], jnp.int32)
    draw = quick_jit(jax.vmap(lambda key: draw_layout(key, is_continuous, padded, config, WINDOWS)))
    return jax.tree.map(np.asarray, draw(jax.random.split(jax.random.key(0), NUMBER)))


def test_seasons_have_equal_probability():
    found, counts = np.unique(layouts(seasons=(1, 7, 7, 12)).season, return_counts=True)
    np.testing.assert_array_equal(found, [1, 7, 12])
    np.testing.assert_allclose(counts / NUMBER, [0.25, 0.5, 0.25], atol=0.03)


def test_window_lengths_are_log_uniform_within_their_bounds():
    steps = layouts().window_steps
    low, high = WINDOWS.min_steps, WINDOWS.max_steps
    assert steps.min() == low and steps.max() == high
    np.testing.assert_allclose((steps < np.sqrt(low * (high + 1))).mean(), 0.5, atol=0.03)


def test_histories_are_cut_in_their_share():
    found = layouts()
    full = (WINDOWS.count - 1) * found.window_steps
    assert (found.history <= full).all() and found.history.min() == WINDOWS.min_history
    np.testing.assert_allclose((found.history < full).mean(), CONFIG.short_history, atol=0.03)


def test_matched_windows_last_a_part_of_a_season_to_three_seasons():
    config = dataclasses.replace(CONFIG, matched_windows=1.0)
    for season, low, high in ((12, 6, 36), (24, 6, 72), (1, WINDOWS.min_steps, MAX_STEPS_WITHOUT_SEASON)):
        steps = layouts(config, seasons=(season,)).window_steps
        assert (steps.min(), steps.max()) == (low, high)


def test_times_of_continuous_series_are_jittered_in_their_share():
    found = layouts()
    shifts = found.times - np.arange(WINDOWS.total_steps)
    is_irregular = np.abs(shifts).max(axis=1) > 0
    np.testing.assert_allclose(is_irregular.mean(), CONFIG.irregular, atol=0.03)
    assert np.abs(shifts).max() < MAX_JITTER + 1e-4 and (np.diff(found.times) > 0).all()
    last_step = WINDOWS.total_steps - 1 - found.window_steps
    assert (shifts[np.arange(NUMBER), last_step] <= 0).all()  # the last step of a window stays in its window
    assert (layouts(is_continuous=False).times == np.arange(WINDOWS.total_steps)).all()
