"""What is particular to each FIM-l; what all interpolators share is in test_interpolators.py."""

import chex
import jax
import jax.numpy as jnp
import numpy as np

from tests.examples import FIM_LOCAL, REPORT_FIM_LOCAL, apply, random_window, with_params

QUERY_TIMES = jnp.linspace(0.5, 11.0, 5)[None].repeat(3, axis=0)


def test_the_reports_call_is_encode_summarise_and_decode():
    model, variables = with_params(REPORT_FIM_LOCAL)
    values, times, mask = random_window()

    def bounds(x):
        return (f(jnp.where(mask, x, fill), axis=-1, keepdims=True) for f, fill in ((jnp.min, 1e9), (jnp.max, -1e9)))

    (low, high), (first, last) = bounds(values), bounds(times)
    unit_square = (values - low) / (high - low), (times - first) / (last - first)
    points = apply(model, variables, *unit_square, mask, method="encode_points")
    chex.assert_shape(points, (3, 12, 2 * REPORT_FIM_LOCAL.width))
    h = apply(model, variables, points, mask, method="summarise")
    chex.assert_shape(h, (3, REPORT_FIM_LOCAL.width))
    out = apply(model, variables, h, (QUERY_TIMES - first) / (last - first), method="decode")
    expected = apply(model, variables, values, times, mask, QUERY_TIMES)
    chex.assert_trees_all_close(low[..., None] + (high - low)[..., None] * out, expected, rtol=1e-4)


def test_the_shipped_output_corrects_a_mixture_of_local_polynomials():
    """Without a correction, it lies between the lowest and the highest polynomial, so a line stays a line."""
    model, variables = with_params(FIM_LOCAL)
    decoder = variables["params"]["query_decoder"]
    # Far below zero, softplus is zero: all quantiles are the median, and the median is not corrected.
    outputs = {"kernel": jnp.zeros_like(decoder["outputs"]["kernel"]), "bias": jnp.full(5, -50.0).at[2].set(0.0)}
    plain = {**variables["params"], "query_decoder": {**decoder, "outputs": outputs}}
    _, times, mask = random_window()
    out = apply(model, {"params": plain}, 3.0 + 0.5 * times, times, mask, QUERY_TIMES)
    inside = (QUERY_TIMES > times[:, :1]) & (QUERY_TIMES < jnp.max(jnp.where(mask, times, 0.0), axis=1, keepdims=True))
    expected = jnp.broadcast_to((3.0 + 0.5 * QUERY_TIMES)[..., None], out.shape)
    np.testing.assert_allclose(out[inside], expected[inside], atol=0.1)


def test_bfloat16_still_distinguishes_neighbouring_times():
    model, variables = with_params(REPORT_FIM_LOCAL, dtype=jnp.bfloat16)
    times = jnp.linspace(0.9, 1.0, 40)[None]
    embed = lambda module, times: module.trunk_embedding(times).astype(jnp.float32)
    embedded = apply(model, variables, times[..., None], method=embed)
    outputs = apply(model, variables, jnp.ones((1, 16)), times, method="decode")
    assert len(np.unique(np.asarray(embedded)[0], axis=0)) > 20
    assert len(np.unique(np.asarray(outputs))) > 5


def test_the_shipped_output_is_a_smooth_function_of_time():
    """There is no kink at an observation: slopes just before and just after it agree."""
    model, variables = with_params(FIM_LOCAL)
    values, times, mask = random_window()
    at = lambda t: model.apply(variables, values[:1], times[:1], mask[:1], t.reshape(1, 1))[0, 0, 2]
    slopes = jax.jit(jax.vmap(jax.grad(at)))(times[0, 1] + jnp.array([-1e-3, 1e-3]))
    np.testing.assert_allclose(*slopes, rtol=0.1, atol=0.1)
