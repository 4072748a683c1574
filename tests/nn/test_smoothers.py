"""Smoothers: accurate on a line with a season, independent of order and gaps, finite for any series."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.classical.decomposition import solve
from fimjax.nn.classical.smoothers import HALF_LIVES, MEMORIES, Smoothed, same_phase_means, smooth

STEPS, QUERY_STEPS = np.arange(-95.0, 1.0, dtype=np.float32), np.arange(1.0, 25.0, dtype=np.float32)
LINES = slice(1, None, 2)


def line_and_season(t):
    return 0.02 * t + 0.5 * np.sin(2 * np.pi * t / 12) + 0.2 * np.cos(2 * np.pi * 3 * t / 12)


def run(values, steps=STEPS, mask=None, season=12, query_steps=QUERY_STEPS) -> Smoothed:
    mask = np.ones_like(steps, bool) if mask is None else mask
    return jax.tree.map(
        lambda x: np.asarray(x[0]),
        jax.jit(smooth)(values[None], steps[None], mask[None], jnp.array([season]), query_steps[None]),
    )


def test_a_line_with_a_season_continues():
    forecasts = run(line_and_season(STEPS).astype(np.float32)).forecasts[:, LINES]
    errors = np.abs(forecasts - line_and_season(QUERY_STEPS)[:, None]).mean(axis=0)
    assert errors[:4].max() < 0.15 and errors.min() < 0.02


def test_levels_and_lines_are_discounted_least_squares():
    y = np.random.default_rng(0).normal(size=96).astype(np.float32)
    found = run(y, season=1).forecasts
    for i, half_life in enumerate(HALF_LIVES):
        w = 0.5 ** (-STEPS / half_life)
        level = np.average(y, weights=w)
        np.testing.assert_allclose(found[:, 2 * i], np.full(24, level), atol=1e-3)
    # A long half-life shrinks the slope least: it is nearly a weighted straight line.
    w = np.sqrt(0.5 ** (-STEPS / HALF_LIVES[2]))
    slope, level = np.polyfit(STEPS, y, 1, w=w)
    np.testing.assert_allclose(found[:, 5], level + slope * QUERY_STEPS, atol=0.15)


def test_forecasts_shift_and_scale_with_the_values():
    y = (line_and_season(STEPS) + 0.1 * np.random.default_rng(1).normal(size=96)).astype(np.float32)
    plain, moved = run(y), run(3.0 - 0.5 * y)
    np.testing.assert_allclose(moved.forecasts, 3.0 - 0.5 * plain.forecasts, atol=1e-4)
    np.testing.assert_allclose(moved.seasonal_residuals, -0.5 * plain.seasonal_residuals, atol=1e-4)


def test_order_and_unobserved_values_do_not_matter():
    rng = np.random.default_rng(2)
    y, mask = line_and_season(STEPS).astype(np.float32), rng.random(96) < 0.6
    order = rng.permutation(96)
    plain = run(y, mask=mask)
    turned = run(np.where(mask, y, 1e6)[order].astype(np.float32), STEPS[order], mask[order])
    for a, b in zip(plain, turned):
        np.testing.assert_allclose(a, b, atol=2e-5)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("season", [1, 4, 168])
def test_a_few_points_give_finite_forecasts(count, season):
    mask = np.arange(96) >= 96 - count
    y = np.random.default_rng(3).normal(size=96).astype(np.float32)
    found = run(y, mask=mask, season=season)
    assert all(np.isfinite(x).all() for x in found) and (found.error_scale > 0).all()
    if count == 1:
        np.testing.assert_allclose(found.forecasts, y[-1], rtol=1e-5)


def test_gradients_are_finite_even_for_a_constant():
    total = lambda y, t: sum(x.sum() for x in smooth(y, STEPS[None], np.ones((1, 96), bool), jnp.array([12]), t))
    for gradient in jax.jit(jax.grad(total, argnums=(0, 1)))(jnp.zeros((1, 96)), jnp.asarray(QUERY_STEPS[None])):
        assert np.isfinite(gradient).all()


def test_a_daily_spike_is_found_at_its_hour():
    steps = np.arange(-167.0, 1.0, dtype=np.float32)
    rest = (steps % 24 == 5).astype(np.float32)
    found = same_phase_means(
        rest[None], steps[None], np.ones((1, 168), bool), jnp.array([24]), np.arange(1.0, 25.0)[None]
    )
    assert found.shape == (1, 24, len(MEMORIES)) and found[0, 4].min() > 0.7
    assert np.abs(np.delete(found[0], 4, axis=0)).max() < 0.1
    none = same_phase_means(
        rest[None], steps[None], np.ones((1, 168), bool), jnp.array([1]), np.arange(1.0, 25.0)[None]
    )
    assert not none.any()


def test_elimination_solves_linear_systems():
    a = np.random.default_rng(4).normal(size=(3, 20, 8)).astype(np.float32)
    matrices, targets = np.einsum("bnf,bng->bfg", a, a) + 0.1 * np.eye(8, dtype=np.float32), a[:, 0]
    np.testing.assert_allclose(
        solve(matrices, targets), np.linalg.solve(matrices, targets[..., None])[..., 0], rtol=1e-3
    )
