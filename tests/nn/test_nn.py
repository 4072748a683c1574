"""Building blocks of the networks, each against a plain computation or a case with a known result."""

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.attention import Attention, masked_attention
from fimjax.nn.mlp import Projection
from fimjax.nn.pooling import SummaryAttention
from fimjax.nn.quantile_head import apply_quantile_head, median_index
from fimjax.nn.scaling import Affine, fit_moments, fit_range
from fimjax.nn.season import SeasonPhase
from fimjax.nn.transformer import TransformerEncoder


def random(shape, seed=0):
    return jax.random.normal(jax.random.key(seed), shape)


class TestAttention:
    def test_against_numpy(self):
        q, k, v = (np.asarray(random((2, 3, 5, 4), seed)) for seed in range(3))
        mask = np.arange(5) < np.array([3, 5])[:, None]
        out = masked_attention(q, k, v, mask)
        logits = np.einsum("bnqd,bntd->bnqt", q, k) / np.sqrt(4)
        logits = np.where(mask[:, None, None, :], logits, -np.inf)
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(out, np.einsum("bnqt,bntd->bnqd", weights, v), rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("attends_to_itself", [True, False])
    def test_it_equals_linens_attention(self, attends_to_itself):
        ours, theirs = Attention(heads=2), nn.MultiHeadDotProductAttention(num_heads=2)
        x, y = random((3, 4, 8)), random((3, 5, 8), 1)
        tokens = x if attends_to_itself else y
        mask = jnp.arange(tokens.shape[1])[None] < jnp.array([[2], [3], [4]])
        variables = theirs.init(jax.random.key(0), x, tokens)
        chex.assert_trees_all_equal(variables, ours.init(jax.random.key(0), x, tokens, mask))
        out = ours.apply(variables, x, None if attends_to_itself else y, mask)
        expected = theirs.apply(variables, x, tokens, mask=mask[:, None, None, :])
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)

    def test_a_fully_masked_row_yields_zeros(self):
        x = random((2, 3, 5, 4))
        out = masked_attention(x, x, x, jnp.array([[False] * 5, [True] * 5]))
        assert not out[0].any() and out[1].any()

    def test_softmax_is_float32_in_bfloat16(self):
        x = random((1, 2, 4, 4)).astype(jnp.bfloat16)
        jaxpr = str(jax.make_jaxpr(lambda x: masked_attention(x, x, x, jnp.ones((1, 4), bool)))(x))
        exponentials = [line for line in jaxpr.splitlines() if "= exp " in line]
        assert exponentials and all("f32[" in line for line in exponentials)

    def test_encoder_tokens_see_observed_tokens_only(self):
        encoder = TransformerEncoder(layers=2, heads=2, feedforward=2)
        x, mask = random((1, 6, 8)), jnp.array([[True, True, True, True, False, False]])
        variables = jax.jit(encoder.init)(jax.random.key(0), x, mask)
        weights = random((8,), 1)
        jacobian = jax.jacobian(lambda x: encoder.apply(variables, x, mask)[0] @ weights)
        influence = np.abs(jax.jit(jacobian)(x)[:, 0]).max(-1) > 0  # [T out, T in]
        np.testing.assert_array_equal(influence[:4, :4], True)
        np.testing.assert_array_equal(influence[:4, 4:], False)

    def test_summary_ignores_order_and_masked_tokens(self):
        summary = SummaryAttention(heads=2)
        x, mask = random((2, 6, 8)), jnp.arange(6)[None].repeat(2, axis=0) < 4
        variables = summary.init(jax.random.key(0), x, mask)
        out = summary.apply(variables, x, mask)
        chex.assert_shape(out, (2, 8))
        flipped = summary.apply(variables, x[:, ::-1].at[:, :2].set(99.0), mask[:, ::-1])
        chex.assert_trees_all_close(flipped, out, rtol=1e-5, atol=1e-6)


def test_projection_is_five_linear_layers_of_the_concatenation():
    projection = Projection(hidden=(8, 8, 8, 4), outputs=1)
    h, trunk = random((2, 3)), random((2, 5, 3), 1)
    params = projection.init(jax.random.key(0), h, trunk)["params"]
    h, trunk, params = jax.tree.map(np.asarray, (h, trunk, params))
    leaky = lambda x: np.where(x > 0, x, 0.01 * x)

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)

    x = np.concatenate([np.broadcast_to(h[:, None], (2, 5, 3)), trunk], axis=-1)
    first = np.concatenate([params["from_summary"]["kernel"], params["from_trunk"]["kernel"]])
    x = norm(leaky(x @ first))
    x = leaky(x @ params["hidden_1"]["kernel"] + params["hidden_1"]["bias"])
    x = norm(leaky(x @ params["hidden_2"]["kernel"]))
    x = leaky(x @ params["hidden_3"]["kernel"] + params["hidden_3"]["bias"])
    expected = x @ params["outputs"]["kernel"] + params["outputs"]["bias"]
    np.testing.assert_allclose(projection.apply({"params": params}, h, trunk), expected, rtol=1e-3, atol=1e-5)
    assert "bias" not in params["hidden_2"]  # a LayerNorm follows


class TestHead:
    @pytest.mark.parametrize("levels", [(0.5,), (0.1, 0.9), (0.1, 0.5, 0.9), tuple(np.arange(0.05, 1, 0.05))])
    def test_quantiles_rise_for_any_outputs(self, levels):
        raw = random((1000, len(levels))) * 10.0 ** random((1000, 1), 1)
        assert np.all(np.diff(np.asarray(apply_quantile_head(raw, levels)), axis=-1) >= 0)

    def test_every_quantile_can_move_by_itself(self):
        jacobian = jax.jacobian(lambda raw: apply_quantile_head(raw, (0.1, 0.5, 0.9)))(jnp.zeros(3))
        assert np.linalg.matrix_rank(jacobian) == 3

    def test_a_value_passes_through(self):
        raw = random((4, 1))
        chex.assert_trees_all_equal(apply_quantile_head(raw, ()), raw)
        assert median_index(()) == 0 and median_index((0.1, 0.4, 0.7)) == 1


class TestScaling:
    def test_moments_are_numpys(self):
        x, mask = 7 + 3 * random((2, 3, 9)), jax.random.bernoulli(jax.random.key(1), 0.6, (2, 3, 9))
        fitted = fit_moments(x, mask, axes=(-2, -1))
        for i in range(2):
            seen = np.asarray(x[i])[np.asarray(mask[i])]
            np.testing.assert_allclose(fitted.shift[i], seen.mean(), rtol=1e-5)
            np.testing.assert_allclose(fitted.scale[i], seen.std(), rtol=1e-5)

    @pytest.mark.parametrize("size", [1e-30, 1e-12, 1.0, 1e12, 1e30])
    def test_moments_neither_underflow_nor_overflow(self, size):
        x = random((1, 50))
        fitted = fit_moments(x * size, jnp.ones((1, 50), bool))
        np.testing.assert_allclose(fitted.normalise(x * size)[0].std(), 1, rtol=1e-4)

    def test_inverting_undoes_normalising(self):
        x, mask = random((3, 9)), jnp.ones((3, 9), bool)
        for fit in (fit_range, fit_moments):
            fitted = fit(x, mask)
            chex.assert_trees_all_close(fitted.invert(fitted.normalise(x)), x, rtol=1e-5, atol=1e-5)

    def test_composition(self):
        outer, inner = Affine(jnp.array([2.0]), jnp.array([3.0])), Affine(jnp.array([5.0]), jnp.array([7.0]))
        z = random((1, 4))
        chex.assert_trees_all_close(outer.then(inner).invert(z), outer.invert(inner.invert(z)), rtol=1e-6)

    def test_nothing_observed(self):
        fitted = fit_moments(jnp.full((1, 4), jnp.nan), jnp.zeros((1, 4), bool))
        assert fitted.shift[0] == 0 and fitted.scale[0] == 0


def test_season_features_repeat_with_the_season_and_are_zero_without_one():
    season_phase = SeasonPhase(jnp.array([3.0, 3.0]), jnp.array([0.5, 0.5]), jnp.array([12, 1]))
    times = 3.0 + 0.5 * jnp.arange(36.0)[None].repeat(2, axis=0)
    features = season_phase.features(times, harmonics=2)
    chex.assert_shape(features, (2, 36, 5))
    chex.assert_trees_all_close(features[0, :12], features[0, 12:24], atol=1e-5)
    angle = 2 * np.pi * np.arange(36) / 12
    expected = np.stack([np.sin(angle), np.sin(2 * angle), np.cos(angle), np.cos(2 * angle), 0 * angle + np.log(12)])
    np.testing.assert_allclose(features[0].T, expected, atol=1e-5)
    assert not features[1].any()
