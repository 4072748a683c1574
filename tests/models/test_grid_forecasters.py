"""N-BEATS, MQCNN, PatchTST and Chronos-Bolt: what only networks on a grid share; the rest is in test_invariants.py."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fimjax.config import ChronosBoltConfig, MQCNNConfig, NBEATSConfig, PatchTSTConfig, TrainingConfig
from fimjax.errors import ConfigError
from fimjax.models import build_model, forecasts, init_params, model_name
from fimjax.prior.sampler import sample_groups
from fimjax.training.losses import Loss
from tests.examples import WINDOW_COUNT, apply, compiled_regular_grid, query_times, random_windows, with_params
from tests.models.examples import GRID_MODELS
from tests.training.examples import PRIOR, WINDOWS

EACH_MODEL = pytest.mark.parametrize("config", GRID_MODELS.values(), ids=GRID_MODELS)


@EACH_MODEL
def test_a_value_head_predicts_one_value(config):
    model, variables = with_params(dataclasses.replace(config, quantile_levels=()))
    windows = random_windows()
    chex.assert_shape(apply(model, variables, windows, query_times(windows)), (3, 5, 1))


@EACH_MODEL
def test_a_missing_value_is_not_a_zero(config):
    model, variables = with_params(config)
    grid = compiled_regular_grid(random_windows(share=1.0), config.context, config.horizon, config.season_harmonics)
    zero = grid.replace(values=grid.values.at[:, -3].set(0.0))
    gap = zero.replace(mask=zero.mask.at[:, -3].set(False))
    predict = jax.jit(lambda grid: model.apply(variables, grid, method="predict_steps"))
    assert not jnp.allclose(predict(zero), predict(gap), atol=1e-3)


@EACH_MODEL
def test_overfits_one_batch(config):
    """The trainer's own loss on one batch falls to about a third."""
    config = dataclasses.replace(config, horizon=12)
    model = build_model(config, WINDOW_COUNT)
    sample = jax.jit(lambda key: sample_groups(key, 0, 2, PRIOR, WINDOWS))(jax.random.key(0))
    loss = jax.jit(Loss(model, TrainingConfig()))
    params = jax.jit(lambda key: init_params(model, key))(jax.random.key(0))
    optimizer = optax.adam(1e-2)

    @jax.jit
    def descend(params):
        def step(_, state):
            params, moments = state
            updates, moments = optimizer.update(jax.grad(lambda p: loss(p, sample).value)(params), moments)
            return optax.apply_updates(params, updates), moments

        return jax.lax.fori_loop(0, 300, step, (params, optimizer.init(params)))[0]

    before, after = (float(loss(p, sample).value) for p in (params, descend(params)))
    assert after < 0.35 * before


@EACH_MODEL
def test_forecasts_between_two_steps_are_interpolated(config):
    model, variables = with_params(config)
    windows = random_windows()
    at = lambda steps: apply(model, variables, windows, windows.origin[:, None] + jnp.array([steps]))
    whole, between = at([2.0, 3.0, 8.0]), at([2.25, 8.0, 9.5])
    np.testing.assert_allclose(between[:, 0], 0.75 * whole[:, 0] + 0.25 * whole[:, 1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(between[:, 1:], whole[:, [2, 2]], rtol=1e-5)  # beyond the horizon: its last step


@pytest.mark.parametrize(("name", "config"), GRID_MODELS.items())
def test_names(name, config):
    assert model_name(config).lower() == name.replace("_", "")
    assert forecasts(config)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NBEATSConfig(context=0), "context: must be positive, not 0"),
        (lambda: NBEATSConfig(stacks=0), "stacks: must be positive, not 0"),
        (lambda: NBEATSConfig(season_harmonics=-1), "season_harmonics: must not be negative"),
        (lambda: MQCNNConfig(dilations=()), "dilations: at least one is needed"),
        (lambda: MQCNNConfig(dilations=(1, 0)), "dilations: .* each must be positive"),
        (lambda: MQCNNConfig(channels=0), "channels: must be positive, not 0"),
        (lambda: PatchTSTConfig(heads=3), "heads: 3 does not divide width 128"),
        (lambda: PatchTSTConfig(context=8), "patch_size: 16 is longer than context 8"),
        (lambda: ChronosBoltConfig(decoder_layers=0), "decoder_layers: must be positive, not 0"),
        (lambda: ChronosBoltConfig(quantile_levels=(0.5, 0.1)), "quantile_levels: must rise strictly"),
    ],
)
def test_invalid_settings_are_named(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
