"""The regular grid: which observation lies on which step, and answers between steps."""

import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.grid import lay_on_grid
from fimjax.nn.windows import Windows


def make_windows(times, values, mask=None, season=4, step=1.0) -> Windows:
    """One series in one window of four steps that ends at its last observation."""
    times, values = (jnp.array([[x]], jnp.float32) for x in (times, values))
    mask = jnp.ones_like(times, bool) if mask is None else jnp.array([[mask]])
    number = lambda x: jnp.array([x])  # noqa: E731
    origin = float(jnp.max(jnp.where(mask, times, -jnp.inf)))
    return Windows(values, times, mask, number(origin), number(4 * step), number(4), number(season))


def restored(grid):
    return np.asarray(grid.value_map.invert(grid.values))[0]


def test_observations_lie_on_the_steps_next_to_them():
    grid = lay_on_grid(make_windows([2.0, 3.1, 5.9, 7.0], [1.0, 2.0, 3.0, 4.0]), context=6, horizon=2, harmonics=0)
    np.testing.assert_array_equal(grid.mask[0], [True, True, False, False, True, True])
    np.testing.assert_allclose(restored(grid)[np.array([0, 1, 4, 5])], [1.0, 2.0, 3.0, 4.0], rtol=1e-6)
    assert not grid.values[0, 2:4].any()


def test_several_observations_on_a_step_become_their_mean():
    grid = lay_on_grid(make_windows([3.9, 4.1, 7.0], [1.0, 3.0, 8.0]), context=4, horizon=2, harmonics=0)
    np.testing.assert_array_equal(grid.mask[0], [True, False, False, True])
    np.testing.assert_allclose(restored(grid)[np.array([0, 3])], [2.0, 8.0], rtol=1e-6)


def test_older_observations_are_left_out_and_gaps_never_read():
    windows = make_windows([1.0, 6.0, jnp.nan, 7.0], [5.0, 6.0, jnp.nan, 7.0], [True, True, False, True])
    grid = lay_on_grid(windows, context=3, horizon=2, harmonics=0)
    np.testing.assert_array_equal(grid.mask[0], [False, True, True])
    np.testing.assert_allclose(restored(grid)[1:], [6.0, 7.0], rtol=1e-6)
    np.testing.assert_allclose(grid.value_map.invert(grid.last), [7.0], rtol=1e-6)


def test_the_unit_of_time_does_not_matter():
    a = lay_on_grid(make_windows([1.0, 3.0, 4.0], [1.0, 2.0, 4.0]), context=5, horizon=3, harmonics=2)
    b = lay_on_grid(make_windows([10.0, 30.0, 40.0], [1.0, 2.0, 4.0], step=10.0), context=5, horizon=3, harmonics=2)
    for name in ("values", "mask", "phases", "ahead"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-6)


def test_phases_count_from_the_last_observation():
    grid = lay_on_grid(make_windows([1.0, 2.0], [1.0, 2.0], season=4), context=4, horizon=4, harmonics=1)
    np.testing.assert_allclose(grid.phases[0, :, 0], np.sin(2 * np.pi * np.arange(-3, 1) / 4), atol=1e-6)
    np.testing.assert_allclose(grid.ahead[0, :, 1], np.cos(2 * np.pi * np.arange(1, 5) / 4), atol=1e-6)
    np.testing.assert_allclose(grid.ahead[0, :, 2], np.log(4.0), rtol=1e-6)
    untold = lay_on_grid(make_windows([1.0, 2.0], [1.0, 2.0], season=1), context=4, horizon=4, harmonics=1)
    assert not untold.phases.any() and not untold.ahead.any()


@pytest.mark.parametrize(("when", "expected"), [(0.5, 3.0), (1.0, 2.0), (1.5, 7.0), (2.0, 12.0), (3.0, 12.0)])
def test_answers_between_steps_begin_at_the_last_observation(when, expected):
    grid = lay_on_grid(make_windows([6.0, 7.0], [0.0, 4.0]), context=4, horizon=2, harmonics=0)
    steps = grid.value_map.normalise(jnp.array([[2.0, 12.0]]))[..., None]
    np.testing.assert_allclose(grid.answer(steps, jnp.array([[7.0 + when]])), [[[expected]]], rtol=1e-5)
