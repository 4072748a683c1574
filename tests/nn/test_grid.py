"""The regular grid: which observation belongs to which step, and forecasts between steps."""

import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.windows import Windows
from tests.examples import compiled_regular_grid


def make_windows(times, values, mask=None, season=4, step=1.0) -> Windows:
    """One series in one window of four steps that ends at its last observation."""
    times, values = (jnp.array([[x]], jnp.float32) for x in (times, values))
    mask = jnp.ones_like(times, bool) if mask is None else jnp.array([[mask]])
    number = lambda x: jnp.array([x])
    origin = float(jnp.max(jnp.where(mask, times, -jnp.inf)))
    return Windows(values, times, mask, number(origin), number(4 * step), number(4), number(season))


def unscaled(grid) -> np.ndarray:
    return np.asarray(grid.value_map.invert(grid.values))[0]


def test_observations_move_to_the_nearest_step():
    windows = make_windows([2.0, 3.1, 5.9, 7.0], [1.0, 2.0, 3.0, 4.0])
    grid = compiled_regular_grid(windows, context=6, horizon=2, harmonics=0)
    np.testing.assert_array_equal(grid.mask[0], [True, True, False, False, True, True])
    np.testing.assert_allclose(unscaled(grid)[np.array([0, 1, 4, 5])], [1.0, 2.0, 3.0, 4.0], rtol=1e-6)
    assert not grid.values[0, 2:4].any()


def test_several_observations_of_one_step_become_their_mean():
    grid = compiled_regular_grid(make_windows([3.9, 4.1, 7.0], [1.0, 3.0, 8.0]), context=4, horizon=2, harmonics=0)
    np.testing.assert_array_equal(grid.mask[0], [True, False, False, True])
    np.testing.assert_allclose(unscaled(grid)[np.array([0, 3])], [2.0, 8.0], rtol=1e-6)


def test_older_observations_are_dropped_and_missing_values_never_read():
    windows = make_windows([1.0, 6.0, jnp.nan, 7.0], [5.0, 6.0, jnp.nan, 7.0], [True, True, False, True])
    grid = compiled_regular_grid(windows, context=3, horizon=2, harmonics=0)
    np.testing.assert_array_equal(grid.mask[0], [False, True, True])
    np.testing.assert_allclose(unscaled(grid)[1:], [6.0, 7.0], rtol=1e-6)
    np.testing.assert_allclose(grid.value_map.invert(grid.last_value), [7.0], rtol=1e-6)


def test_the_unit_of_time_does_not_matter():
    a, b = (
        compiled_regular_grid(
            make_windows([1.0 * step, 3.0 * step, 4.0 * step], [1.0, 2.0, 4.0], step=step),
            context=5,
            horizon=3,
            harmonics=2,
        )
        for step in (1.0, 10.0)
    )
    for name in ("values", "mask", "phases", "future_phases"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-6)


def test_phases_count_from_the_last_observation():
    grid = compiled_regular_grid(make_windows([1.0, 2.0], [1.0, 2.0], season=4), context=4, horizon=4, harmonics=1)
    np.testing.assert_allclose(grid.phases[0, :, 0], np.sin(2 * np.pi * np.arange(-3, 1) / 4), atol=1e-6)
    np.testing.assert_allclose(grid.future_phases[0, :, 1], np.cos(2 * np.pi * np.arange(1, 5) / 4), atol=1e-6)
    np.testing.assert_allclose(grid.future_phases[0, :, 2], np.log(4.0), rtol=1e-6)
    unknown = compiled_regular_grid(make_windows([1.0, 2.0], [1.0, 2.0], season=1), context=4, horizon=4, harmonics=1)
    assert not unknown.phases.any() and not unknown.future_phases.any()


@pytest.mark.parametrize(("when", "expected"), [(0.5, 3.0), (1.0, 2.0), (1.5, 7.0), (2.0, 12.0), (3.0, 12.0)])
def test_interpolation_between_steps_starts_at_the_last_observation(when, expected):
    grid = compiled_regular_grid(make_windows([6.0, 7.0], [0.0, 4.0]), context=4, horizon=2, harmonics=0)
    forecasts = grid.value_map.normalise(jnp.array([[2.0, 12.0]]))[..., None]
    np.testing.assert_allclose(grid.read_at(forecasts, jnp.array([[7.0 + when]])), [[[expected]]], rtol=1e-5)
