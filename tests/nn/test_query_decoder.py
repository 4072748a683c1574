"""The anchor: a weighted sum of observed values and classical forecasts."""

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.nn.packing import pack_slots
from fimjax.nn.query_decoder import Anchor, AnchorInputs

QUERIES, TOKENS = (jax.random.normal(jax.random.key(i), (2, n, 8)) for i, n in ((0, 3), (1, 5)))
MASK = jnp.array([[True] * 5, [True, True, False, False, False]])
INPUTS = AnchorInputs(
    values=jnp.array([[1.0, 2.0, 3.0, 4.0, 5.0], [7.0, 7.0, -99.0, -99.0, -99.0]]),
    baseline_forecasts=jnp.broadcast_to(jnp.array([5.0, 7.0])[:, None, None], (2, 3, 1)),
    seasonal_residuals=jnp.zeros((2, 3, 2)),
    reference=jnp.broadcast_to(jnp.array([5.0, 7.0])[:, None], (2, 3)),
)
PARAMS = jax.jit(Anchor(2).init)(jax.random.key(2), QUERIES, TOKENS, MASK, INPUTS)["params"]
WILD = {**PARAMS, "gates": jax.tree.map(lambda x: x + 3.0, PARAMS["gates"])}


def baseline(inputs: AnchorInputs, params=PARAMS) -> jax.Array:
    return Anchor(2).apply({"params": params}, QUERIES, TOKENS, MASK, inputs)


def test_initially_it_is_a_mean_of_visible_values_and_forecasts():
    out = baseline(INPUTS)
    assert out.shape == (2, 3) and 1.0 < out[0].min() and out[0].max() < 5.0
    np.testing.assert_allclose(out[1], 7.0, rtol=1e-6)


def test_it_is_linear_in_the_values():
    scaled = jax.tree.map(lambda x: 1e4 * x, INPUTS)
    np.testing.assert_allclose(baseline(scaled, WILD), 1e4 * baseline(INPUTS, WILD), rtol=1e-5)


def test_a_gate_can_select_a_classical_forecast():
    forecasts = INPUTS.baseline_forecasts + jnp.arange(3.0).reshape(1, 3, 1)
    only_forecast = {**PARAMS, "gates": {**PARAMS["gates"], "bias": jnp.array([0.0, 0.0, 1.0, 0.0, 0.0])}}
    out = baseline(INPUTS._replace(baseline_forecasts=forecasts), only_forecast)
    np.testing.assert_allclose(out, forecasts[..., 0], rtol=1e-6)


def test_terms_that_all_agree_with_the_reference_give_it_for_any_gates():
    sevens = INPUTS._replace(
        values=jnp.full((2, 5), 7.0), baseline_forecasts=jnp.full((2, 3, 1), 7.0), reference=jnp.full((2, 3), 7.0)
    )
    np.testing.assert_allclose(baseline(sevens, WILD), 7.0, rtol=1e-5)
    # Seasonal residuals are added as they are.
    residuals = sevens._replace(seasonal_residuals=jnp.ones((2, 3, 2)))
    assert (jnp.abs(baseline(residuals, WILD) - 7.0) > 1.0).all()


def test_it_shifts_with_the_values():
    shifted = INPUTS._replace(
        values=INPUTS.values + 5,
        baseline_forecasts=INPUTS.baseline_forecasts + 5,
        reference=INPUTS.reference + 5,
    )
    np.testing.assert_allclose(baseline(shifted, WILD), baseline(INPUTS, WILD) + 5.0, rtol=1e-4)


def test_packed_tokens_and_queries_give_the_same():
    queried = jnp.array([[True, False, True], [False, True, False]])
    tokens, queries = pack_slots(MASK, 8), pack_slots(queried, 4)
    packed = INPUTS._replace(
        baseline_forecasts=queries.pack(INPUTS.baseline_forecasts),
        seasonal_residuals=queries.pack(INPUTS.seasonal_residuals),
        reference=queries.pack(INPUTS.reference),
    )
    inputs = queries.pack(QUERIES), tokens.pack(TOKENS), MASK, packed, queries, tokens
    rows = Anchor(2).apply({"params": PARAMS}, *inputs)
    np.testing.assert_allclose(rows[:3], baseline(INPUTS)[queried], rtol=1e-5)
