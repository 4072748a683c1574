"""FIM-l and DeepONet as interpolators: what must and what must not change their answers."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import FIMLocalConfig
from fimjax.models import build_model, count_params, init_params
from fimjax.nn.season import SeasonPhase
from tests.examples import LOCAL, OPERATOR, QUERYING_LOCAL, RICH_LOCAL, apply, random_window, with_params

CLOCK = SeasonPhase(jnp.zeros(3), jnp.ones(3), jnp.array([1, 4, 12]))
MODELS = pytest.mark.parametrize(
    "config", [LOCAL, RICH_LOCAL, QUERYING_LOCAL, OPERATOR], ids=["value", "quantiles", "querying", "deeponet"]
)
QUERY = jnp.linspace(0.5, 11.0, 5)[None].repeat(3, axis=0)


def answer(model, variables, values, times, mask, query=QUERY, clock=CLOCK):
    return apply(model, variables, values, times, mask, query, clock)


@MODELS
def test_shape_and_type(config):
    model, variables = with_params(config)
    out = answer(model, variables, *random_window())
    chex.assert_shape(out, (3, 5, max(1, len(config.quantile_levels))))
    chex.assert_type(out, jnp.float32)
    chex.assert_tree_all_finite(out)


@MODELS
def test_what_stands_in_unobserved_slots_changes_nothing(config):
    model, variables = with_params(config)
    values, times, mask = random_window()
    expected = answer(model, variables, values, times, mask)
    for rubbish in (1e9, jnp.nan, jnp.inf):
        dirty = jnp.where(mask, values, rubbish), jnp.where(mask, times, rubbish)
        chex.assert_trees_all_equal(answer(model, variables, *dirty, mask), expected)


@MODELS
def test_padding_changes_nothing(config):
    model, variables = with_params(config)
    window = random_window()
    padded = [jnp.pad(x, ((0, 0), (0, 4))) for x in window]
    expected = answer(model, variables, *window)
    chex.assert_trees_all_close(answer(model, variables, *padded), expected, rtol=1e-4, atol=1e-4)


@MODELS
def test_order_of_observations_changes_nothing(config):
    model, variables = with_params(config)
    window = random_window()
    order = jax.random.permutation(jax.random.key(5), 12)
    shuffled = [x[:, order] for x in window]
    expected = answer(model, variables, *window)
    chex.assert_trees_all_close(answer(model, variables, *shuffled), expected, rtol=1e-4, atol=1e-4)


@MODELS
def test_an_observation_does_change_the_answer(config):
    model, variables = with_params(config)
    values, times, mask = random_window()
    moved = values.at[:, 1].add(1.0)
    difference = answer(model, variables, moved, times, mask) - answer(model, variables, values, times, mask)
    assert jnp.abs(difference).max(axis=(1, 2)).min() > 1e-3


@MODELS
@pytest.mark.parametrize("scale, shift", [(3.0, 0.0), (1.0, 40.0), (1e-6, 2e-6), (1e6, -1e7)])
def test_scaling_and_shifting_values_does_just_that(config, scale, shift):
    model, variables = with_params(config)
    values, times, mask = random_window()
    expected = answer(model, variables, values, times, mask)
    moved = answer(model, variables, scale * values + shift, times, mask)
    chex.assert_trees_all_close((moved - shift) / scale, expected, rtol=2e-3, atol=2e-3)


@MODELS
@pytest.mark.parametrize("scale, shift", [(0.125, 0.0), (1.0, 64.0), (30.0, -900.0)])
def test_scaling_and_shifting_time_changes_nothing(config, scale, shift):
    model, variables = with_params(config)
    values, times, mask = random_window()
    expected = answer(model, variables, values, times, mask)
    clock = SeasonPhase(CLOCK.origin * scale + shift, CLOCK.step * scale, CLOCK.season)
    moved = answer(model, variables, values, times * scale + shift, mask, QUERY * scale + shift, clock)
    chex.assert_trees_all_close(moved, expected, rtol=2e-3, atol=2e-3)


@MODELS
def test_constants_are_answered_exactly(config):
    model, variables = with_params(config)
    _, times, mask = random_window()
    for constant in (0.0, 0.1, -5.0, 1e9, 1e-9):
        out = answer(model, variables, jnp.full((3, 12), constant), times, mask)
        chex.assert_trees_all_equal(out, jnp.full_like(out, constant))


@MODELS
def test_one_observation_and_none(config):
    model, variables = with_params(config)
    values, times, mask = random_window()
    one = jnp.zeros_like(mask).at[:, 4].set(True)
    out = answer(model, variables, values, times, one)
    chex.assert_trees_all_equal(out, jnp.broadcast_to(values[:, 4, None, None], out.shape))
    chex.assert_tree_all_finite(answer(model, variables, values, times, jnp.zeros_like(mask)))


def test_quantiles_never_cross():
    model, variables = with_params(RICH_LOCAL)
    for seed in range(20):
        values, times, mask = random_window(seed)
        out = answer(model, variables, values * 10.0 ** (seed - 10), times, mask)
        assert np.all(np.diff(np.asarray(out), axis=-1) >= 0)


def test_encode_and_decode_make_up_the_call():
    model, variables = with_params(LOCAL)
    values, times, mask = random_window()
    low, high = (
        f(jnp.where(mask, values, fill), axis=-1, keepdims=True) for f, fill in ((jnp.min, 1e9), (jnp.max, -1e9))
    )
    first, last = (
        f(jnp.where(mask, times, fill), axis=-1, keepdims=True) for f, fill in ((jnp.min, 1e9), (jnp.max, -1e9))
    )
    h = model.apply(variables, (values - low) / (high - low), (times - first) / (last - first), mask, method="encode")
    chex.assert_shape(h, (3, LOCAL.width))
    out = model.apply(variables, h, (QUERY - first) / (last - first), method="decode")
    expected = answer(model, variables, values, times, mask)
    chex.assert_trees_all_close(low[..., None] + (high - low)[..., None] * out, expected, rtol=1e-4)


def test_the_season_matters_only_where_it_is_asked_for():
    values, times, mask = random_window()
    other = SeasonPhase(CLOCK.origin, CLOCK.step, jnp.array([1, 5, 12]))
    for config, differs in ((LOCAL, False), (RICH_LOCAL, True)):
        model, variables = with_params(config)
        change = answer(model, variables, values, times, mask, clock=other) - answer(
            model, variables, values, times, mask
        )
        assert not np.any(change[0]) and not np.any(change[2])
        assert np.any(change[1]) == differs


def test_no_clock_means_no_season():
    model, variables = with_params(RICH_LOCAL)
    window = random_window()
    none = SeasonPhase(jnp.zeros(3), jnp.ones(3), jnp.ones(3, jnp.int32))
    chex.assert_trees_all_close(
        answer(model, variables, *window, clock=none), answer(model, variables, *window, clock=None)
    )


def test_paper_size():
    model = build_model(FIMLocalConfig())
    shapes = jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))
    assert count_params(shapes) == 22_465_281
    assert count_params(shapes["branch_encoder"]) == 6 * 3_152_384 + 1_024
    five_linear = 512 * 1024 + (1024 + 1) * 1024 + 1024 * 1024 + (1024 + 1) * 256 + (256 + 1) * 1
    assert count_params(shapes["projection"]) == five_linear + 2 * 2 * 1024  # and two LayerNorms


def test_gradients_reach_every_parameter():
    for config in (LOCAL, RICH_LOCAL, OPERATOR):
        model, variables = with_params(config)
        window = random_window()
        grads = jax.grad(lambda v: jnp.sum(answer(model, v, *window) ** 2))(variables)
        norms = jax.tree.map(lambda g: float(jnp.abs(g).max()), grads)
        dead = [path for path, norm in jax.tree_util.tree_leaves_with_path(norms) if norm == 0]
        # The key projections' biases shift all logits alike, which softmax does not see.
        assert not [p for p in dead if not jax.tree_util.keystr(p).endswith("['key']['bias']")], dead


@pytest.mark.parametrize("config", [LOCAL, OPERATOR], ids=["fim_local", "deeponet"])
def test_bfloat16_keeps_parameters_and_outputs_float32(config):
    model, variables = with_params(config, dtype=jnp.bfloat16)
    chex.assert_type(jax.tree.leaves(variables), jnp.float32)
    window = random_window()
    exact = answer(with_params(config)[0], variables, *window)
    out = answer(model, variables, *window)
    chex.assert_type(out, jnp.float32)
    chex.assert_trees_all_close(out, exact, rtol=0.1, atol=0.3)


def test_bfloat16_still_tells_neighbouring_times_apart():
    model, variables = with_params(LOCAL, dtype=jnp.bfloat16)
    times = jnp.linspace(0.9, 1.0, 40)[None]
    embedded = model.apply(variables, times[..., None], method=lambda m, t: m.trunk_embedding(t).astype(jnp.float32))
    products = model.apply(variables, jnp.ones((1, 16)), times, method="decode")
    assert len(np.unique(np.asarray(embedded)[0], axis=0)) > 20
    assert len(np.unique(np.asarray(products))) > 5
