"""MQCNN: against plain NumPy, at the paper's size, what an encoding knows of, what a horizon has to itself."""

import dataclasses
import functools

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import MQCNNConfig
from fimjax.models.mqcnn import MQCNN, DilatedConv, receptive_field
from fimjax.nn.compute import Compute
from fimjax.nn.grid import Grid, lay_on_grid
from tests.examples import LEVELS, query_times, random_windows

SMALL = MQCNNConfig(
    context=16,
    horizon=8,
    dilations=(1, 2, 4),
    channels=6,
    future_width=5,
    agnostic_width=7,
    specific_width=3,
    quantile_levels=LEVELS,
)


@functools.cache
def with_params(config):
    """A model, and parameters away from their initial zeros."""
    model, windows = MQCNN(config), random_windows()
    params = jax.jit(model.init)(jax.random.key(0), windows, query_times(windows))["params"]
    leaves, tree = jax.tree.flatten(params)
    rng = np.random.default_rng(1)
    moved = [x + 0.1 * rng.standard_normal(x.shape).astype(np.float32) for x in leaves]
    return model, {"params": jax.tree.unflatten(tree, moved)}


def grid_for(config) -> Grid:
    """Series with gaps, 24 steps long."""
    grid = lay_on_grid(random_windows(share=0.6), config.context, config.horizon, config.season_harmonics)
    assert not grid.mask[:, -8:].all()
    return grid


@functools.partial(jax.jit, static_argnums=(0, 3, 4))
def call(model, variables, grid, method, *settings):
    """A method's answer; compiled once for each model and shape."""
    return model.apply(variables, grid, *settings, method=method)


def tell(model, variables, grid):
    return np.asarray(call(model, variables, grid, "tell"))


def by_hand(config, params, grid):
    """MQCNN in float64, step by step and horizon by horizon."""
    params = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    relu = lambda x: np.maximum(x, 0.0)
    dense = lambda layer, x: x @ layer["kernel"] + layer["bias"]
    softplus = lambda x: np.log1p(np.exp(x))
    answers = []
    series = (np.asarray(x, np.float64) for x in (grid.values, grid.mask, grid.phases, grid.ahead))
    for values, mask, phases, ahead in zip(*series):
        x = [np.array([v, m, *p]) for v, m, p in zip(values, mask, phases)]
        # Nothing was observed in all the time before the grid.
        x = [np.zeros_like(x[0])] * 50 + x
        for i, dilation in enumerate(config.dilations):
            layer = params["past_encoder"][f"convolution_{i}"]
            kernel = layer["kernel"][::-1]  # [K, in, out], now with the step's own entry first
            joined = lambda t: sum(x[t - k * dilation] @ kernel[k] for k in range(config.kernel))
            x = [relu(joined(t) + layer["bias"]) for t in range((config.kernel - 1) * dilation, len(x))]
        known = np.array([[(h + 1) / config.horizon, *ahead[h]] for h in range(config.horizon)])
        future = relu(dense(params["future_encoder"]["Dense_0"], known.ravel()))
        context = np.concatenate([x[-1], future])
        agnostic = relu(dense(params["agnostic_decoder"], context))
        specific = relu(dense(params["specific_decoder"], context))
        local = params["local_decoder"]
        kernel = np.concatenate([local["from_agnostic"]["kernel"], local["from_specific"]["kernel"]])
        for h in range(config.horizon):
            own = specific[h * config.specific_width : (h + 1) * config.specific_width]
            hidden = relu(np.concatenate([agnostic, own, known[h]]) @ kernel + local["from_specific"]["bias"])
            raw = dense(local["out"], hidden)
            if len(raw) > 1:
                steps, middle = softplus(raw), len(raw) // 2
                raw = [raw[middle] + steps[middle + 1 : i + 1].sum() - steps[i:middle].sum() for i in range(len(raw))]
            answers.append(raw)
    return np.array(answers).reshape(len(grid.values), config.horizon, -1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"season_harmonics": 2},
        {"context": 5},  # shorter than the receptive field of 8
        {"kernel": 3, "dilations": (1, 3), "season_harmonics": 2, "context": 6},
        {"quantile_levels": ()},
    ],
    ids=str,
)
def test_against_numpy(changes):
    config = dataclasses.replace(SMALL, **changes)
    model, variables = with_params(config)
    grid = grid_for(config)
    expected = by_hand(config, variables["params"], grid)
    np.testing.assert_allclose(tell(model, variables, grid), expected, rtol=1e-4, atol=1e-5)


def test_paper_size():
    windows = random_windows()
    count = lambda tree: sum(x.size for x in jax.tree.leaves(tree))
    initialise = lambda key, model: model.init(key, windows, query_times(windows))["params"]
    shapes = jax.eval_shape(lambda key: initialise(key, MQCNN(MQCNNConfig())), jax.random.key(0))
    assert count(shapes) == 61_469
    assert count(shapes["past_encoder"]) == (2 * 2 * 30 + 30) + 5 * (2 * 30 * 30 + 30)
    assert count(shapes["future_encoder"]) == 24 * 50 + 50
    assert count(shapes["agnostic_decoder"]) == (30 + 50) * 100 + 100
    assert count(shapes["specific_decoder"]) == (30 + 50) * 24 * 20 + 24 * 20
    assert count(shapes["local_decoder"]) == (100 + 20 + 1) * 30 + 30 + 30 * 9 + 9
    # Two harmonics are five phases: more inputs of the first convolution, the future encoder and the local decoder.
    seasonal = jax.eval_shape(lambda key: initialise(key, MQCNN(MQCNNConfig(season_harmonics=2))), jax.random.key(0))
    assert count(seasonal) - count(shapes) == 5 * (2 * 30 + 24 * 50 + 30)


@pytest.mark.parametrize("kernel, dilations, steps", [(2, (1, 2, 4, 8, 16, 32), 64), (2, (1, 2, 4), 8), (3, (1, 3), 9)])
def test_an_encoding_knows_of_its_receptive_field_and_of_no_later_step(kernel, dilations, steps):
    assert receptive_field(kernel, dilations) == steps
    context = steps + 4
    config = dataclasses.replace(SMALL, kernel=kernel, dilations=dilations, context=context)
    model, variables = with_params(config)
    # Positive weights and inputs keep every ReLU open, so that an influence that exists is seen.
    variables = jax.tree.map(jnp.abs, variables)
    grid = grid_for(config).replace(mask=jnp.ones((3, context), bool))
    encode = lambda values: call(model, variables, grid.replace(values=values), "encode", context).sum(axis=(0, 2))
    gradient = jax.jit(jax.jacobian(encode))(jnp.ones((3, context)))  # [T, B, T]
    age = np.arange(context)[:, None] - np.arange(context)[None]
    np.testing.assert_array_equal(np.any(gradient != 0, axis=1), (age >= 0) & (age < steps))


def test_the_encoding_of_the_last_step_is_the_last_of_all_encodings():
    model, variables = with_params(SMALL)
    encode = functools.partial(call, model, variables, grid_for(SMALL), "encode")
    chex.assert_shape(encode(SMALL.context), (3, SMALL.context, SMALL.channels))
    chex.assert_trees_all_close(encode(1), encode(SMALL.context)[:, -1:], rtol=1e-5, atol=1e-6)


def test_steps_older_than_the_receptive_field_change_nothing():
    model, variables = with_params(SMALL)
    grid = grid_for(SMALL)
    other = grid.replace(values=grid.values.at[:, :-8].set(9.0), mask=grid.mask.at[:, :-8].set(True))
    np.testing.assert_array_equal(tell(model, variables, other), tell(model, variables, grid))


def test_each_horizon_has_a_context_of_its_own():
    model, variables = with_params(SMALL)
    params, grid = variables["params"], grid_for(SMALL)
    layer, own = params["specific_decoder"], slice(3 * SMALL.specific_width, 4 * SMALL.specific_width)
    changed = {"kernel": layer["kernel"].at[:, own].add(1.0), "bias": layer["bias"].at[own].add(1.0)}
    after = tell(model, {"params": {**params, "specific_decoder": changed}}, grid)
    differs = np.any(after != tell(model, variables, grid), axis=(0, 2))
    np.testing.assert_array_equal(differs, np.arange(SMALL.horizon) == 3)


def test_what_is_known_of_one_step_ahead_reaches_all_horizons():
    """The future is encoded as a whole: a season's phase tomorrow matters to the day after."""
    config = dataclasses.replace(SMALL, season_harmonics=2)
    model, variables = with_params(config)
    grid = grid_for(config)
    other = grid.replace(ahead=grid.ahead.at[:, 3].add(3.0))
    differs = np.any(tell(model, variables, other) != tell(model, variables, grid), axis=(0, 2))
    assert differs.all()


def test_in_bfloat16_answers_stay_near():
    model, variables = with_params(SMALL)
    grid, rounded = grid_for(SMALL), MQCNN(SMALL, Compute(jnp.bfloat16))
    out = call(rounded, variables, grid, "tell")
    chex.assert_type(out, jnp.float32)
    np.testing.assert_allclose(out, tell(model, variables, grid), atol=0.05)


def test_a_dilated_convolution_is_linens():
    x = jax.random.normal(jax.random.key(0), (2, 20, 3))
    theirs = nn.Conv(5, (3,), kernel_dilation=4, padding="VALID")
    ours = DilatedConv(5, 3, 4)
    variables = theirs.init(jax.random.key(1), x)
    chex.assert_trees_all_equal(variables, ours.init(jax.random.key(1), x))
    chex.assert_trees_all_close(ours.apply(variables, x), theirs.apply(variables, x), rtol=1e-5, atol=1e-5)
