"""A series cut into windows, and the statistics of a window."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.windows import Windows, split_windows, window_statistics


def split(times, values, mask, steps=4, step=1.0, windows=3, slots=4, season=1) -> Windows:
    full = lambda x, kind: jnp.full((times.shape[0],), x, kind)
    return split_windows(
        times, values, mask,
        steps=full(steps, jnp.int32), step=full(step, jnp.float32), season=full(season, jnp.int32),
        windows=windows, slots=slots,
    )  # fmt: skip


def test_a_regular_series_fills_windows_from_its_end():
    times = jnp.arange(10.0)[None]
    windows = split(times, times * 10, jnp.ones((1, 10), bool))
    expected = [[0, 1, 0, 0], [2, 3, 4, 5], [6, 7, 8, 9]]
    chex.assert_trees_all_equal(windows.times[0], jnp.array(expected, jnp.float32))
    assert windows.mask.sum() == 10 and windows.origin[0] == 9 and windows.duration[0] == 4
    chex.assert_trees_all_equal(windows.values[windows.mask], windows.times[windows.mask] * 10)


def test_points_older_than_the_windows_are_left_out():
    times = jnp.arange(30.0)[None]
    windows = split(times, times, jnp.ones((1, 30), bool))
    assert windows.mask.all() and windows.times.min() == 18


@pytest.mark.parametrize("points_per_slot", [2, 3, 5])
def test_crowded_windows_are_thinned_evenly_and_keep_their_newest_point(points_per_slot):
    count = 12 * points_per_slot
    times = (jnp.arange(float(count)) / points_per_slot)[None]
    windows = split(times, times, jnp.ones((1, count), bool), step=1.0)
    assert windows.mask.all() and windows.times[0, -1, -1] == times[0, -1]
    assert np.all(np.diff(np.asarray(windows.times), axis=-1) >= 0.5)


def test_crowded_windows_keep_different_phases():
    times = jnp.arange(24.0)[None]
    windows = split(times, times, jnp.ones((1, 24), bool), steps=8)
    phases = np.asarray(windows.times[0]) % 8
    assert set(phases[-1]) | set(phases[-2]) == set(range(8)) and not set(phases[-1]) & set(phases[-2])


def test_missing_points_and_the_order_of_points_do_not_matter():
    times = jnp.arange(12.0)[None]
    mask = jnp.arange(12)[None] % 3 != 0
    expected = split(times, times, mask)
    order = jax.random.permutation(jax.random.key(0), 12)
    chex.assert_trees_all_equal(split(times[:, order], times[:, order], mask[:, order]), expected)
    assert expected.mask.sum() == 8


def test_a_series_without_observations_gives_empty_windows():
    times = jnp.arange(12.0)[None]
    windows = split(times, times * jnp.nan, jnp.zeros((1, 12), bool))
    assert not windows.mask.any()
    chex.assert_tree_all_finite(windows.origin)


def test_the_nine_statistics_are_in_the_reports_order():
    values = jnp.array([[4.0, 99.0, -1.0, 2.0]])
    times = jnp.array([[3.0, 50.0, 1.0, 2.0]])
    mask = jnp.array([[True, False, True, True]])
    # Minimum, maximum, range; first, last, difference; first, last, difference of times. First and last go by time.
    expected = [-1, 4, 5, -1, 4, 5, 1, 3, 2]
    np.testing.assert_allclose(window_statistics(values, times, mask)[0], expected)
    assert not window_statistics(values, times, jnp.zeros_like(mask)).any()
    assert window_statistics(1e6 * values, times, mask).max() == 10
