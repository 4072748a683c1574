"""Local polynomials: nearly exact on lines and parabolas, smooth in time, finite for any number of points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.classical.local_polynomials import (
    BOUNDS,
    FITS,
    LEAST_ERROR,
    UNKNOWN_ERROR,
    leave_one_out_errors,
    local_polynomials,
)

TIMES = jnp.linspace(0.0, 1.0, 21)[None]
QUERY_TIMES = jnp.linspace(0.0, 1.0, 64)[None]
GAPS = (jnp.arange(21) % 5 != 2)[None]

fit = jax.jit(local_polynomials)


def test_every_fit_follows_a_line_and_the_parabola_fits_a_parabola_best():
    line = fit(QUERY_TIMES, 0.2 + 0.5 * TIMES, TIMES, GAPS)
    np.testing.assert_allclose(line, np.repeat(0.2 + 0.5 * QUERY_TIMES[..., None], len(FITS), axis=-1), atol=0.02)
    chord, smooth, parabola = np.abs(fit(QUERY_TIMES, TIMES**2, TIMES, GAPS) - QUERY_TIMES[..., None] ** 2)[0].mean(0)
    assert parabola < chord < smooth


def test_the_chord_is_linear_interpolation():
    values = jax.random.uniform(jax.random.key(0), TIMES.shape)
    middle = 0.5 * (TIMES[:, 1:] + TIMES[:, :-1])
    found = fit(middle, values, TIMES, jnp.ones_like(GAPS))[0, :, 0]
    np.testing.assert_allclose(found, np.interp(middle[0], TIMES[0], values[0]), atol=0.02)


def test_noise_is_smoothed_by_the_wide_line():
    noise = jax.random.normal(jax.random.key(1), TIMES.shape)
    chord, smooth, _ = np.asarray(fit(TIMES, 0.5 + 0.1 * noise, TIMES, jnp.ones_like(GAPS)))[0].std(0)
    assert smooth < 0.7 * chord


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_points_give_finite_fits_and_gradients(count):
    mask = (jnp.arange(21) < count)[None]
    times, values = jnp.where(mask, TIMES * 20, 0.0), jnp.where(mask, 1.0 - TIMES * 20, 0.0)
    found, gradient = jax.jit(jax.value_and_grad(lambda v: fit(QUERY_TIMES, v, times, mask).sum()))(values)
    assert jnp.isfinite(found) and jnp.isfinite(gradient).all()
    out = fit(QUERY_TIMES, values, times, mask)
    assert out.min() >= BOUNDS[0] and out.max() <= BOUNDS[1]


def test_unobserved_values_are_not_read():
    values = jnp.where(GAPS, 0.3, 7.0)
    np.testing.assert_allclose(fit(QUERY_TIMES, values, TIMES, GAPS), 0.3, rtol=1e-5)


def test_fits_are_smooth_in_time():
    values = jax.random.uniform(jax.random.key(2), TIMES.shape)
    at = lambda t: fit(t.reshape(1, 1), values, TIMES, GAPS)[0, 0, 0]
    slopes = jax.jit(jax.vmap(jax.grad(at)))(jnp.array([0.35 - 1e-3, 0.35 + 1e-3]))  # on both sides of a point
    np.testing.assert_allclose(*slopes, atol=0.2)  # a kink would be of order ten


def test_leave_one_out_errors_are_larger_for_rough_windows():
    rough = jax.random.uniform(jax.random.key(3), TIMES.shape)
    values = jnp.concatenate([0.2 + 0.5 * TIMES, TIMES**2, rough])
    errors = jax.jit(leave_one_out_errors)(values, jnp.repeat(TIMES, 3, axis=0), jnp.ones((3, 21), bool))
    assert (errors[0] < 0.01).all() and errors[1, 2] < errors[1, 0] < 0.02 and (errors[2] > 0.15).all()
    assert (errors >= LEAST_ERROR).all()
    two = jax.jit(leave_one_out_errors)(TIMES, TIMES, (jnp.arange(21) % 20 == 0)[None])
    np.testing.assert_allclose(two, UNKNOWN_ERROR, rtol=1e-6)
