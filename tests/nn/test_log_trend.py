"""Growth by shares: exact on what it is made for, straight without a floor, never without an answer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.classical.log_trend import FAR, HALF_LIVES, UNKNOWN, Grown, choose_unit, grow
from fimjax.nn.classical.smoothers import smooth

STEPS, AHEAD = np.arange(-59.0, 1.0, dtype=np.float32), np.arange(1.0, 13.0, dtype=np.float32)


def sales(t):
    return np.exp(0.03 * t) * (1.0 + 0.2 * np.sin(2 * np.pi * t / 12))


def ask(values, floor, mask=None, season=12) -> Grown:
    mask = np.ones_like(STEPS, bool) if mask is None else mask
    values = np.asarray(values, np.float32)
    last = values[mask][-1] if mask.any() else np.float32(0)
    series = values[None], STEPS[None], mask[None], jnp.array([season]), AHEAD[None]
    found = jax.jit(grow)(*series, last[None], jnp.array([floor], jnp.float32))
    return jax.tree.map(lambda x: np.asarray(x[0]), found)


def test_sales_above_their_floor_grow_on_and_their_season_with_them():
    found = ask(3.0 + sales(STEPS), floor=3.0).forecasts
    errors = np.abs(found - (3.0 + sales(AHEAD))[:, None]).mean(axis=0)
    straight = ask(3.0 + sales(STEPS), floor=-np.inf).forecasts
    assert found.shape == (12, len(HALF_LIVES)) and errors[:3].max() < 0.08
    assert errors[0] < 0.5 * np.abs(straight[:, 0] - (3.0 + sales(AHEAD))).mean()


def test_without_a_floor_growth_is_nearly_straight_and_the_answer_moves_with_the_values():
    line = 0.05 * STEPS
    np.testing.assert_allclose(ask(line, -np.inf, season=1).forecasts[:, 0], 0.05 * AHEAD, rtol=0.06)
    plain, moved = ask(sales(STEPS), 0.0), ask(sales(STEPS) + 2.0, 2.0)
    np.testing.assert_allclose(moved.forecasts, plain.forecasts + 2.0, rtol=1e-4)
    np.testing.assert_allclose(moved.heights, plain.heights, rtol=1e-4)


def test_heights_tell_a_known_floor_from_an_unknown_one():
    assert (ask(sales(STEPS), -np.inf).heights == UNKNOWN).all()
    known = ask(sales(STEPS), 0.0).heights
    np.testing.assert_allclose(known, np.arcsinh([sales(STEPS).min(), 1.0]), rtol=1e-4)
    np.testing.assert_allclose(ask(sales(STEPS), -1e6).heights[1], np.arcsinh(1.0 + FAR), rtol=1e-4)


@pytest.mark.parametrize("floor", [-np.inf, -1.0, 0.0])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_few_points_have_an_answer(count, floor):
    mask = np.arange(60) >= 60 - count
    values = np.where(mask, sales(STEPS), np.float32(1e6))
    found = ask(np.where(mask, values, 0.0), floor, mask)
    for x, y in zip(found, ask(values, floor, mask)):
        assert np.isfinite(x).all()
        np.testing.assert_allclose(x, y, rtol=1e-5)
    if count == 1:
        np.testing.assert_allclose(found.forecasts, 1.0, rtol=1e-5)


def test_gradients_are_finite_even_of_zeros_at_the_floor():
    def total(values, ahead, floor):
        mask = np.ones((1, 60), bool)
        return sum(x.sum() for x in grow(values, STEPS[None], mask, jnp.array([12]), ahead, values[:, -1], floor))

    for floor in (0.0, -jnp.inf):
        for gradient in jax.grad(total, argnums=(0, 1))(jnp.zeros((1, 60)), AHEAD[None], jnp.array([floor])):
            assert np.isfinite(gradient).all()


def test_steps_by_shares_follow_the_season_and_are_small_where_shares_describe_them():
    rng = np.random.default_rng(0)
    y = sales(STEPS) * np.exp(0.02 * rng.normal(size=60))
    found = ask(y, floor=0.0)
    # Steps are those of the errors, 0.02 sqrt(2) of the height, and a little of the trend.
    expected = 0.02 * np.sqrt(2) * np.sqrt(2 / np.pi) + 0.01
    np.testing.assert_allclose(found.steps / sales(AHEAD), expected, rtol=0.5)
    assert found.steps.argmax() == np.sin(2 * np.pi * AHEAD / 12).argmax()  # the level is the last one's
    series = y[None].astype(np.float32), STEPS[None], np.ones((1, 60), bool), jnp.array([12]), AHEAD[None]
    plain = smooth(*series).unit
    of = lambda floor: choose_unit(plain, AHEAD[None], jax.tree.map(lambda x: x[None], ask(y, floor)))
    root = np.sqrt(1.0 + AHEAD)
    assert (np.ptp(of(0.0)[0] / root) > 0.15 * np.mean(of(0.0)[0] / root)) and np.isfinite(of(0.0)).all()
    # Without a floor both kinds of steps are the same.
    np.testing.assert_allclose(of(-np.inf), plain, rtol=0.1)


def test_steps_do_not_depend_on_order():
    values, order = np.float32(sales(STEPS)), np.random.default_rng(1).permutation(60)
    ask_in = lambda o: grow(values[None, o], STEPS[None, o], np.ones((1, 60), bool), jnp.array([12]), AHEAD[None],
                            values[None, -1], jnp.zeros(1)).steps  # fmt: skip
    np.testing.assert_allclose(ask_in(order), ask_in(np.arange(60)), rtol=1e-3)
