"""Multiplicative growth: accurate above a floor, nearly linear without one, finite for any series."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.classical.log_trend import (
    FARTHEST_GROUND,
    HALF_LIVES,
    UNKNOWN_HEIGHT,
    LogTrend,
    choose_error_scale,
    fit_log_trend,
)
from fimjax.nn.classical.smoothers import smooth

STEPS, QUERY_STEPS = np.arange(-59.0, 1.0, dtype=np.float32), np.arange(1.0, 13.0, dtype=np.float32)


def sales(t):
    return np.exp(0.03 * t) * (1.0 + 0.2 * np.sin(2 * np.pi * t / 12))


def fit(values, floor, mask=None, season=12) -> LogTrend:
    mask = np.ones_like(STEPS, bool) if mask is None else mask
    values = np.asarray(values, np.float32)
    last = values[mask][-1] if mask.any() else np.float32(0)
    series = values[None], STEPS[None], mask[None], jnp.array([season]), QUERY_STEPS[None]
    found = jax.jit(fit_log_trend)(*series, last[None], jnp.array([floor], jnp.float32))
    return jax.tree.map(lambda x: np.asarray(x[0]), found)


def test_growth_above_a_floor_continues_and_its_season_grows_with_it():
    found = fit(3.0 + sales(STEPS), floor=3.0).forecasts
    errors = np.abs(found - (3.0 + sales(QUERY_STEPS))[:, None]).mean(axis=0)
    straight = fit(3.0 + sales(STEPS), floor=-np.inf).forecasts
    assert found.shape == (12, len(HALF_LIVES)) and errors[:3].max() < 0.08
    assert errors[0] < 0.5 * np.abs(straight[:, 0] - (3.0 + sales(QUERY_STEPS))).mean()


def test_growth_is_nearly_linear_without_a_floor_and_shifts_with_the_values():
    line = 0.05 * STEPS
    np.testing.assert_allclose(fit(line, -np.inf, season=1).forecasts[:, 0], 0.05 * QUERY_STEPS, rtol=0.06)
    plain, moved = fit(sales(STEPS), 0.0), fit(sales(STEPS) + 2.0, 2.0)
    np.testing.assert_allclose(moved.forecasts, plain.forecasts + 2.0, rtol=1e-4)
    np.testing.assert_allclose(moved.heights, plain.heights, rtol=1e-4)


def test_heights_distinguish_a_known_floor_from_an_unknown_one():
    assert (fit(sales(STEPS), -np.inf).heights == UNKNOWN_HEIGHT).all()
    known = fit(sales(STEPS), 0.0).heights
    np.testing.assert_allclose(known, np.arcsinh([sales(STEPS).min(), 1.0]), rtol=1e-4)
    np.testing.assert_allclose(fit(sales(STEPS), -1e6).heights[1], np.arcsinh(1.0 + FARTHEST_GROUND), rtol=1e-4)


@pytest.mark.parametrize("floor", [-np.inf, -1.0, 0.0])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_few_points_give_finite_forecasts(count, floor):
    mask = np.arange(60) >= 60 - count
    values = np.where(mask, sales(STEPS), np.float32(1e6))
    found = fit(np.where(mask, values, 0.0), floor, mask)
    for x, y in zip(found, fit(values, floor, mask)):
        assert np.isfinite(x).all()
        np.testing.assert_allclose(x, y, rtol=1e-5)
    if count == 1:
        np.testing.assert_allclose(found.forecasts, 1.0, rtol=1e-5)


def test_gradients_are_finite_even_for_zeros_at_the_floor():
    def total(values, ahead, floor):
        mask = np.ones((1, 60), bool)
        return sum(
            x.sum() for x in fit_log_trend(values, STEPS[None], mask, jnp.array([12]), ahead, values[:, -1], floor)
        )

    gradients = jax.jit(jax.grad(total, argnums=(0, 1)))
    for floor in (0.0, -jnp.inf):
        for gradient in gradients(jnp.zeros((1, 60)), QUERY_STEPS[None], jnp.array([floor])):
            assert np.isfinite(gradient).all()


def test_relative_steps_follow_the_season_and_set_the_error_scale():
    rng = np.random.default_rng(0)
    y = sales(STEPS) * np.exp(0.02 * rng.normal(size=60))
    found = fit(y, floor=0.0)
    # Steps are those of the errors, 0.02 sqrt(2) of the height, and a little of the trend.
    expected = 0.02 * np.sqrt(2) * np.sqrt(2 / np.pi) + 0.01
    np.testing.assert_allclose(found.step_size / sales(QUERY_STEPS), expected, rtol=0.5)
    assert found.step_size.argmax() == np.sin(2 * np.pi * QUERY_STEPS / 12).argmax()  # the level is the last one's
    series = y[None].astype(np.float32), STEPS[None], np.ones((1, 60), bool), jnp.array([12]), QUERY_STEPS[None]
    plain = jax.jit(smooth)(*series).error_scale
    of = lambda floor: choose_error_scale(plain, QUERY_STEPS[None], jax.tree.map(lambda x: x[None], fit(y, floor)))
    root = np.sqrt(1.0 + QUERY_STEPS)
    assert (np.ptp(of(0.0)[0] / root) > 0.15 * np.mean(of(0.0)[0] / root)) and np.isfinite(of(0.0)).all()
    # Without a floor both kinds of steps are the same.
    np.testing.assert_allclose(of(-np.inf), plain, rtol=0.1)


def test_step_sizes_do_not_depend_on_the_order_of_points():
    values, every = np.float32(sales(STEPS)), np.ones((1, 60), bool)

    def step_size_in(order):
        series = values[None, order], STEPS[None, order], every, jnp.array([12]), QUERY_STEPS[None]
        return jax.jit(fit_log_trend)(*series, values[None, -1], jnp.zeros(1)).step_size

    order = np.random.default_rng(1).permutation(60)
    np.testing.assert_allclose(step_size_in(order), step_size_in(np.arange(60)), rtol=1e-3)
