"""Local polynomials: exact where they can be, smooth, and never without an answer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.classical.local_polynomials import (
    BOUNDS,
    FITS,
    LEAST_MISS,
    UNKNOWN_MISS,
    local_polynomials,
    typical_misses,
)

TIMES = jnp.linspace(0.0, 1.0, 21)[None]
ASKED = jnp.linspace(0.0, 1.0, 64)[None]
GAPS = (jnp.arange(21) % 5 != 2)[None]


def test_a_line_is_met_by_all_of_them_and_a_parabola_best_by_its_like():
    line = local_polynomials(ASKED, 0.2 + 0.5 * TIMES, TIMES, GAPS)
    np.testing.assert_allclose(line, np.repeat(0.2 + 0.5 * ASKED[..., None], len(FITS), axis=-1), atol=0.02)
    chord, smooth, parabola = np.abs(local_polynomials(ASKED, TIMES**2, TIMES, GAPS) - ASKED[..., None] ** 2)[0].mean(0)
    assert parabola < chord < smooth


def test_a_chord_is_linear_interpolation():
    values = jax.random.uniform(jax.random.key(0), TIMES.shape)
    middle = 0.5 * (TIMES[:, 1:] + TIMES[:, :-1])
    found = local_polynomials(middle, values, TIMES, jnp.ones_like(GAPS))[0, :, 0]
    np.testing.assert_allclose(found, np.interp(middle[0], TIMES[0], values[0]), atol=0.02)


def test_noise_is_smoothed_by_the_wide_line():
    noise = jax.random.normal(jax.random.key(1), TIMES.shape)
    chord, smooth, _ = np.asarray(local_polynomials(TIMES, 0.5 + 0.1 * noise, TIMES, jnp.ones_like(GAPS)))[0].std(0)
    assert smooth < 0.7 * chord


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_points_have_an_answer_with_a_gradient(count):
    mask = (jnp.arange(21) < count)[None]
    times, values = jnp.where(mask, TIMES * 20, 0.0), jnp.where(mask, 1.0 - TIMES * 20, 0.0)
    found, gradient = jax.value_and_grad(lambda v: local_polynomials(ASKED, v, times, mask).sum())(values)
    assert jnp.isfinite(found) and jnp.isfinite(gradient).all()
    out = local_polynomials(ASKED, values, times, mask)
    assert out.min() >= BOUNDS[0] and out.max() <= BOUNDS[1]


def test_what_is_not_observed_is_not_read():
    values = jnp.where(GAPS, 0.3, 7.0)
    np.testing.assert_allclose(local_polynomials(ASKED, values, TIMES, GAPS), 0.3, rtol=1e-5)


def test_answers_are_smooth_in_time():
    values = jax.random.uniform(jax.random.key(2), TIMES.shape)
    at = lambda t: local_polynomials(t.reshape(1, 1), values, TIMES, GAPS)[0, 0, 0]  # noqa: E731
    slopes = jax.vmap(jax.grad(at))(jnp.array([0.35 - 1e-3, 0.35 + 1e-3]))  # on both sides of a point
    np.testing.assert_allclose(*slopes, atol=0.2)  # a kink would be of order ten


def test_misses_tell_rough_windows_from_smooth_ones():
    rough = jax.random.uniform(jax.random.key(3), TIMES.shape)
    values = jnp.concatenate([0.2 + 0.5 * TIMES, TIMES**2, rough])
    misses = typical_misses(values, jnp.repeat(TIMES, 3, axis=0), jnp.ones((3, 21), bool))
    assert (misses[0] < 0.01).all() and misses[1, 2] < misses[1, 0] < 0.02 and (misses[2] > 0.15).all()
    assert (misses >= LEAST_MISS).all()
    two = typical_misses(TIMES, TIMES, (jnp.arange(21) % 20 == 0)[None])
    np.testing.assert_allclose(two, UNKNOWN_MISS, rtol=1e-6)
