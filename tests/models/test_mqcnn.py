"""MQCNN: against NumPy, its number of parameters, its receptive field, and the contexts of its horizons."""

import dataclasses
import functools

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import MQCNNConfig
from fimjax.models import count_params
from fimjax.models.mqcnn import MQCNN, DilatedConv, PastEncoder, receptive_field
from fimjax.nn.grid import Grid
from tests.examples import LEVELS, compiled_regular_grid, query_times, random_windows, with_params

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


def gappy_grid(config) -> Grid:
    """Series with missing values, 24 steps long."""
    grid = compiled_regular_grid(random_windows(share=0.6), config.context, config.horizon, config.season_harmonics)
    assert not grid.mask[:, -8:].all()
    return grid


@functools.partial(jax.jit, static_argnums=0)
def predict_steps(model, variables, grid):
    return model.apply(variables, grid, method="predict_steps")


def numpy_forecast(config, params, grid) -> np.ndarray:
    """MQCNN in float64, step by step and horizon by horizon: [B, H, L]."""
    params = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    relu = lambda x: np.maximum(x, 0.0)
    dense = lambda layer, x: x @ layer["kernel"] + layer["bias"]
    softplus = lambda x: np.log1p(np.exp(x))
    forecasts = []
    series = (np.asarray(x, np.float64) for x in (grid.values, grid.mask, grid.phases, grid.future_phases))
    for values, mask, phases, future_phases in zip(*series):
        x = [np.array([v, m, *p]) for v, m, p in zip(values, mask, phases)]
        # All steps before the grid are unobserved.
        x = [np.zeros_like(x[0])] * 50 + x
        for i, dilation in enumerate(config.dilations):
            layer = params["past_encoder"][f"convolution_{i}"]
            kernel = layer["kernel"][::-1]  # [K, in, out], the step itself first
            joined = lambda t: sum(x[t - k * dilation] @ kernel[k] for k in range(config.kernel_size))
            x = [relu(joined(t) + layer["bias"]) for t in range((config.kernel_size - 1) * dilation, len(x))]
        known = np.array([[(h + 1) / config.horizon, *future_phases[h]] for h in range(config.horizon)])
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
            forecasts.append(raw)
    return np.array(forecasts).reshape(len(grid.values), config.horizon, -1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"season_harmonics": 2},
        {"context": 5},  # shorter than the receptive field of 8
        {"kernel_size": 3, "dilations": (1, 3), "season_harmonics": 2, "context": 6},
        {"quantile_levels": ()},
    ],
    ids=str,
)
def test_against_numpy(changes):
    config = dataclasses.replace(SMALL, **changes)
    model, variables = with_params(config)
    grid = gappy_grid(config)
    expected = numpy_forecast(config, variables["params"], grid)
    np.testing.assert_allclose(predict_steps(model, variables, grid), expected, rtol=1e-4, atol=1e-5)


def test_number_of_parameters_at_the_papers_size():
    def parameters(config):
        windows = random_windows()
        return jax.eval_shape(MQCNN(config).init, jax.random.key(0), windows, query_times(windows))["params"]

    shapes = parameters(MQCNNConfig())
    assert count_params(shapes) == 61_469
    assert count_params(shapes["past_encoder"]) == (2 * 2 * 30 + 30) + 5 * (2 * 30 * 30 + 30)
    assert count_params(shapes["future_encoder"]) == 24 * 50 + 50
    assert count_params(shapes["agnostic_decoder"]) == (30 + 50) * 100 + 100
    assert count_params(shapes["specific_decoder"]) == (30 + 50) * 24 * 20 + 24 * 20
    assert count_params(shapes["local_decoder"]) == (100 + 20 + 1) * 30 + 30 + 30 * 9 + 9
    # Two harmonics are five phases: more inputs of the first convolution, the future encoder and the local decoder.
    seasonal = parameters(MQCNNConfig(season_harmonics=2))
    assert count_params(seasonal) - count_params(shapes) == 5 * (2 * 30 + 24 * 50 + 30)


@pytest.mark.parametrize(
    "kernel_size, dilations, field", [(2, (1, 2, 4, 8, 16, 32), 64), (2, (1, 2, 4), 8), (3, (1, 3), 9)]
)
def test_an_encoding_depends_on_its_receptive_field_and_on_no_later_step(kernel_size, dilations, field):
    assert receptive_field(kernel_size, dilations) == field
    steps = 5
    encoder = PastEncoder(kernel_size, dilations, channels=6)
    # Positive weights and inputs keep every ReLU active, so that no dependence is hidden.
    inputs = jnp.ones((1, field - 1 + steps, 2))
    variables = jax.tree.map(jnp.abs, encoder.init(jax.random.key(0), inputs))
    encode = jax.jit(lambda x: encoder.apply(variables, x).sum(axis=(0, 2)))
    chex.assert_shape(encode(inputs), (steps,))
    depends = np.any(jax.jit(jax.jacobian(encode))(inputs) != 0, axis=(1, 3))  # [T, R - 1 + T]
    age = np.arange(steps)[:, None] + field - 1 - np.arange(field - 1 + steps)[None]
    np.testing.assert_array_equal(depends, (age >= 0) & (age < field))


def test_steps_older_than_the_receptive_field_change_nothing():
    model, variables = with_params(SMALL)
    grid = gappy_grid(SMALL)
    other = grid.replace(values=grid.values.at[:, :-8].set(9.0), mask=grid.mask.at[:, :-8].set(True))
    np.testing.assert_array_equal(predict_steps(model, variables, other), predict_steps(model, variables, grid))


def test_each_horizon_has_a_context_of_its_own():
    model, variables = with_params(SMALL)
    params, grid = variables["params"], gappy_grid(SMALL)
    layer, own = params["specific_decoder"], slice(3 * SMALL.specific_width, 4 * SMALL.specific_width)
    changed = {"kernel": layer["kernel"].at[:, own].add(1.0), "bias": layer["bias"].at[own].add(1.0)}
    after = predict_steps(model, {"params": {**params, "specific_decoder": changed}}, grid)
    differs = np.any(after != predict_steps(model, variables, grid), axis=(0, 2))
    np.testing.assert_array_equal(differs, np.arange(SMALL.horizon) == 3)


def test_known_inputs_of_one_horizon_reach_all_horizons():
    """The future is encoded as a whole: the season's phase tomorrow matters the day after."""
    config = dataclasses.replace(SMALL, season_harmonics=2)
    model, variables = with_params(config)
    grid = gappy_grid(config)
    other = grid.replace(future_phases=grid.future_phases.at[:, 3].add(3.0))
    differs = np.any(predict_steps(model, variables, other) != predict_steps(model, variables, grid), axis=(0, 2))
    assert differs.all()


def test_a_dilated_convolution_is_linens():
    x = jax.random.normal(jax.random.key(0), (2, 20, 3))
    theirs = nn.Conv(5, (3,), kernel_dilation=4, padding="VALID")
    ours = DilatedConv(5, 3, 4)
    variables = theirs.init(jax.random.key(1), x)
    chex.assert_trees_all_equal(variables, ours.init(jax.random.key(1), x))
    chex.assert_trees_all_close(ours.apply(variables, x), theirs.apply(variables, x), rtol=1e-5, atol=1e-5)
