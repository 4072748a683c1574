"""The PyTorch models compute the same outputs, losses, gradients and training steps as fimjax."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from configs import paper_fim, paper_fim_local
from fimjax.config import Config, ReportFIMConfig
from fimjax.errors import ConfigError
from fimjax.models import build_model, count_params, encoders, forecasts, init_params
from fimjax.prior.sampler import Sample
from fimjax.training.losses import Loss, fold_windows, interpolate, target_window
from fimjax.training.optim import frozen_parts, make_schedule, split_params
from fimjax.training.step import TrainStep, init_state
from research.recipes import frozen_fim, frozen_fim_local
from tests.training.examples import PRIOR, WINDOWS

torch = pytest.importorskip("torch")

from benchmarks import torch_models, torch_training  # noqa: E402
from benchmarks.torch_training import (  # noqa: E402
    learning_rate,
    load_model,
    make_forward,
    make_step,
    to_state_dict,
    to_torch,
)

GROUPS = 3


def narrow(config: Config) -> Config:
    """The same config with a small network and short windows.

    Epsilon is large, because some gradients are zero up to rounding and Adam would turn these into full steps. The
    running average moves fast enough to be visible in float32.
    """
    shrink = functools.partial(dataclasses.replace, heads=2, layers=2)
    model = config.model
    if isinstance(model, ReportFIMConfig):
        model = shrink(model, local=shrink(model.local, width=8))
    else:
        model = shrink(model, width=8)
    rates = {"learning_rate": 1e-2, "min_learning_rate": 5e-3, "warmup_steps": 2}
    training = dataclasses.replace(config.training, epsilon=1e-2, precision="float32", **rates)
    if training.average_decay:
        training = dataclasses.replace(training, average_decay=0.9)
    return Config(model, WINDOWS, PRIOR, training)


FULL = {
    "paper_fim": paper_fim.get_config(),
    "paper_fim_local": paper_fim_local.get_config(),
    "frozen_fim": frozen_fim.get_config(),
    "frozen_fim_local": frozen_fim_local.get_config(),
}
SMALL = {name: narrow(config) for name, config in FULL.items()}
each_config = pytest.mark.parametrize("config", SMALL.values(), ids=SMALL)


@functools.cache
def params_of(config: Config):
    """Parameters away from their initial zeros and ones, so that every part affects the output.

    With this seed no input of a ReLU is within rounding of zero, where gradients may differ.
    """
    init = lambda key: init_params(build_model(config.model, config.windows.count), key)
    leaves, tree = jax.tree.flatten(jax.jit(init)(jax.random.key(0)))
    keys = jax.random.split(jax.random.key(6), len(leaves))
    return jax.tree.unflatten(tree, [x + 0.1 * jax.random.normal(key, x.shape) for x, key in zip(leaves, keys)])


@functools.cache
def draw(step: int = 0) -> Sample:
    """The batch of a training step, the same for all configs; some of its windows are empty."""
    config = SMALL["paper_fim"]
    train_step = TrainStep(config, build_model(config.model, config.windows.count), GROUPS)
    sample = jax.jit(train_step.draw_batch)(step)
    assert not np.asarray(sample.observed).any(-1).all()
    return sample


def without_observations(sample: Sample) -> Sample:
    """The first series has no observations."""
    return sample.replace(observed=sample.observed.at[0].set(False))


SAMPLES = {"drawn": draw, "with_an_empty_series": lambda: without_observations(draw())}
each_sample = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def predict(model, params, sample: Sample) -> jax.Array:
    if forecasts(model.config):
        return model.apply({"params": params}, sample.past(), target_window(sample)[0])
    return interpolate(model, params, fold_windows(sample))


@functools.partial(jax.jit, static_argnums=0)
def loss_and_gradient(config: Config, params, sample: Sample):
    trained, kept = split_params(params, frozen_parts(config.model))
    loss = Loss(build_model(config.model, config.windows.count), config.training)
    return jax.value_and_grad(lambda trained: loss({**kept, **trained}, sample).value)(trained)


def assert_states_agree(found: dict, expected: dict, tolerance: float) -> None:
    """Every array differs by no more than a fraction of its norm, or of the total norm if it is zero up to rounding."""
    assert found.keys() == expected.keys()
    norm = sum(float(x.square().sum()) for x in expected.values()) ** 0.5
    assert norm > 0
    for name, x in expected.items():
        off = float((found[name] - x).norm()) / (float(x.norm()) + 1e-3 * norm)
        assert off <= tolerance, name


@each_config
@each_sample
def test_forward_passes_agree(config, sample):
    params, sample = params_of(config), sample()
    expected = np.asarray(
        jax.jit(lambda params: predict(build_model(config.model, config.windows.count), params, sample))(params)
    )
    found = make_forward(config, params)(to_torch(sample)).numpy().reshape(expected.shape)
    # Relative to the largest output of each series or window.
    largest = np.abs(expected).max((1, 2), keepdims=True)
    off = np.abs(found - expected) / np.where(largest > 0, largest, 1.0)
    assert off.max() <= 2e-5


@each_config
@each_sample
def test_losses_and_gradients_agree(config, sample):
    params, sample = params_of(config), sample()
    loss, gradient = loss_and_gradient(config, params, sample)
    model = load_model(config, params)
    found = torch_training.make_loss(model, config.training)(to_torch(sample))
    found.backward()
    np.testing.assert_allclose(found.item(), loss, rtol=1e-5)
    gradients = {name: x.grad for name, x in model.named_parameters() if x.grad is not None}
    assert_states_agree(gradients, to_state_dict(gradient), tolerance=2e-4)  # float32 has errors of up to 1e-4


@each_config
def test_training_steps_agree(config):
    state, step = init_state(config, params_of(config)), make_step(config, params_of(config))
    train_step = jax.jit(TrainStep(config, build_model(config.model, config.windows.count), GROUPS))
    before = to_state_dict(state.params)
    trained = [name for name, x in step.model.named_parameters() if x.requires_grad]
    for i in range(2):
        state, metrics = train_step(state)
        np.testing.assert_allclose(step(to_torch(draw(i))), metrics["loss"], rtol=1e-5)
        expected = to_state_dict(state.params)
        found = step.model.state_dict()
        assert_states_agree(moves(found, before, trained), moves(expected, before, trained), tolerance=1e-3)
        assert all(found[name].equal(before[name]) for name in found.keys() - trained)
    if config.training.average_decay:
        found, expected = dict(zip(trained, step.average)), to_state_dict(state.average)
        assert_states_agree(moves(found, before, trained), moves(expected, before, trained), tolerance=1e-2)


def moves(state: dict, before: dict, names: list[str]) -> dict:
    return {name: state[name] - before[name] for name in names}


@pytest.mark.parametrize("config", FULL.values(), ids=FULL)
def test_schedules_agree(config):
    training = config.training
    steps = np.array(
        [0, 1, training.warmup_steps, training.warmup_steps + 1, 2_000, training.steps, training.steps + 9]
    )
    expected = np.asarray(jax.vmap(make_schedule(training))(steps))
    np.testing.assert_allclose([learning_rate(training, int(step)) for step in steps], expected, rtol=2e-5)


@each_config
def test_numbers_of_parameters_agree(config):
    assert count(torch_models.build_model(config.model)) == count_params(params_of(config))


def test_numbers_of_parameters_at_full_size():
    with torch.device("meta"):
        models = {name: torch_models.build_model(config.model) for name, config in FULL.items()}
    assert count(models["paper_fim_local"]) == count(models["paper_fim"].local) == 22_465_281
    assert count(models["paper_fim"]) - count(models["paper_fim"].local) == 27_456_256


def test_the_narrowest_window_agrees():
    assert torch_models.MIN_WINDOW_RANGE == encoders.MIN_WINDOW_RANGE


def count(model) -> int:
    return sum(x.numel() for x in model.parameters())


def test_errors_name_what_is_unsupported(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="C.. compiler.*no-such-compiler"):
        make_step(SMALL["paper_fim_local"], compiled=True)
    with pytest.raises(ConfigError, match="precision"):
        make_forward(FULL["paper_fim_local"])
    with pytest.raises(ConfigError, match="learned_scale"):
        torch_models.build_model(dataclasses.replace(SMALL["paper_fim"].model, learned_scale=True))
