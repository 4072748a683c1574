"""The PyTorch models of the benchmark compute what fimjax's compute: answers, losses, gradients and training steps."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs import first_fim, frozen_fim, paper_fim, paper_fim_local, small_fim
from fimjax.config import Config, FIMConfig
from fimjax.errors import ConfigError
from fimjax.models import build_model, count_params, fim, init_params
from fimjax.nn import attention, polynomials, queries
from fimjax.prior.sampler import Sample
from fimjax.training import losses
from fimjax.training.losses import fold_windows, interpolate, make_loss, target_window
from fimjax.training.optim import frozen_parts, make_schedule, split_params
from fimjax.training.step import TRAINING_STREAM, draw_batch, init_state, make_train_step, stream_key
from tests.training.examples import PRIOR

torch = pytest.importorskip("torch")

from benchmarks import torch_layers, torch_models, torch_polynomials, torch_training  # noqa: E402
from benchmarks.torch_params import to_state_dict  # noqa: E402
from benchmarks.torch_training import learning_rate, load_model, make_forward, make_step, to_torch  # noqa: E402
from benchmarks.training import without_smoothers  # noqa: E402

GROUPS = 3


def narrow(config: Config) -> Config:
    """All switches as they are, but a small network and short windows.

    A large epsilon: some gradients are zero but for rounding, and Adam would blow that up to whole steps. A running
    average, if any, that moves fast enough to be seen in float32.
    """
    shrink = functools.partial(dataclasses.replace, heads=2, layers=2)
    model = config.model
    if isinstance(model, FIMConfig):
        model = shrink(model, local=shrink(model.local, width=8), windows=PRIOR.windows)
    else:
        model = shrink(model, width=8)
    rates = {"learning_rate": 1e-2, "min_learning_rate": 5e-3, "warmup_steps": 2}
    training = dataclasses.replace(config.training, epsilon=1e-2, precision="float32", **rates)
    if training.average_decay:
        training = dataclasses.replace(training, average_decay=0.9)
    return Config(model, PRIOR, training)


FULL = {
    "small_fim": without_smoothers(small_fim.get_config()),
    "paper_fim": paper_fim.get_config(),
    "paper_fim_local": paper_fim_local.get_config(),
}
SMALL = {name: narrow(config) for name, config in FULL.items()}
each_config = pytest.mark.parametrize("config", SMALL.values(), ids=SMALL)

# What no benchmark measures: the shipped FIM-l by itself, and models without some of what the shipped one has.
SHIPPED = SMALL["small_fim"]
LEARNING = SMALL | {"first_fim": narrow(first_fim.get_config()), "frozen_fim": narrow(frozen_fim.get_config())}
ANSWERING = LEARNING | {"small_fim_local": dataclasses.replace(SHIPPED, model=SHIPPED.model.local)}


@functools.cache
def params_of(config: Config):
    """Parameters away from their initial zeros and ones, so that every part shows in the output.

    Of a seed with which no ReLU of PyTorch's models has its input within float32's rounding of zero: there a gradient
    may be one or the other.
    """
    init = lambda key: init_params(build_model(config.model), key)
    leaves, tree = jax.tree.flatten(jax.jit(init)(jax.random.key(0)))
    keys = jax.random.split(jax.random.key(6), len(leaves))
    return jax.tree.unflatten(tree, [x + 0.1 * jax.random.normal(key, x.shape) for x, key in zip(leaves, keys)])


@functools.cache
def draw(step: int = 0) -> Sample:
    """The batch of a training step, of whichever config; some of its windows are empty."""
    key = jax.random.fold_in(stream_key(0, TRAINING_STREAM), step)
    sample = jax.jit(lambda key: draw_batch(SMALL["small_fim"], key, GROUPS, None))(key)
    assert not np.asarray(sample.observed).any(-1).all()
    return sample


def without_observations(sample: Sample) -> Sample:
    """Nothing is known of the first series."""
    return sample.replace(observed=sample.observed.at[0].set(False))


SAMPLES = {"drawn": draw, "with_an_empty_series": lambda: without_observations(draw())}
each_sample = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def answer(model, params, sample: Sample) -> jax.Array:
    if isinstance(model, fim.FIM):
        return model.apply({"params": params}, sample.past(), target_window(sample)[0])
    return interpolate(model, params, fold_windows(sample))


@functools.partial(jax.jit, static_argnums=0)
def loss_and_gradient(config: Config, params, sample: Sample):
    trained, kept = split_params(params, frozen_parts(config.model))
    loss = make_loss(build_model(config.model), config.training)
    return jax.value_and_grad(lambda trained: loss({**kept, **trained}, sample).value)(trained)


def assert_states_agree(found: dict, expected: dict, tolerance: float) -> None:
    """Every array differs by no more than a part of its own norm; those that are zero but for rounding, of all."""
    assert found.keys() == expected.keys()
    norm = sum(float(x.square().sum()) for x in expected.values()) ** 0.5
    assert norm > 0
    for name, x in expected.items():
        off = float((found[name] - x).norm()) / (float(x.norm()) + 1e-3 * norm)
        assert off <= tolerance, name


@pytest.mark.parametrize("config", ANSWERING.values(), ids=ANSWERING)
@each_sample
def test_forward_passes_agree(config, sample):
    params, sample = params_of(config), sample()
    expected = np.asarray(jax.jit(lambda params: answer(build_model(config.model), params, sample))(params))
    found = make_forward(config, params)(to_torch(sample)).numpy().reshape(expected.shape)
    # Of the largest answer of each series or window: float32 itself is off by up to 1e-5 where a parabola is fitted.
    largest = np.abs(expected).max((1, 2), keepdims=True)
    off = np.abs(found - expected) / np.where(largest > 0, largest, 1.0)
    assert off.max() <= 2e-5


@pytest.mark.parametrize("config", LEARNING.values(), ids=LEARNING)
@each_sample
def test_losses_and_gradients_agree(config, sample):
    params, sample = params_of(config), sample()
    loss, gradient = loss_and_gradient(config, params, sample)
    model = load_model(config, params)
    found = torch_training.make_loss(model, config.training)(to_torch(sample))
    found.backward()
    np.testing.assert_allclose(found.item(), loss, rtol=1e-5)
    gradients = {name: x.grad for name, x in model.named_parameters() if x.grad is not None}
    assert_states_agree(gradients, to_state_dict(gradient), tolerance=2e-4)  # float32 itself is off by up to 1e-4


@each_config
def test_training_steps_agree(config):
    state, step = init_state(config, params_of(config)), make_step(config, params_of(config))
    train_step = jax.jit(make_train_step(config, build_model(config.model), GROUPS))
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
def test_parameters_are_as_many(config):
    assert count(torch_models.build_model(config.model)) == count_params(params_of(config))


def test_full_sizes_are_those_of_fimjax():
    with torch.device("meta"):
        models = {name: torch_models.build_model(config.model) for name, config in FULL.items()}
    assert count(models["small_fim"]) == 678_554
    assert count(models["paper_fim_local"]) == count(models["paper_fim"].local) == 22_465_281
    assert count(models["paper_fim"]) - count(models["paper_fim"].local) == 27_456_256


@pytest.mark.parametrize("points", [0, 1, 2, 3, 8])
def test_polynomials_agree(points):
    """On windows with so many points in 8 slots; in float64, for parabolas through few points lose digits."""
    rng = np.random.default_rng(points)
    mask = rng.permuted(np.tile(np.arange(8) < points, (5, 1)), axis=-1)
    values, times = (np.where(mask, rng.random((5, 8)), 0.0) for _ in range(2))
    times[mask & (times == times.max(-1, keepdims=True))] = 1.0  # an edge, whose miss does not count
    known, asked, skip = (values, times, mask), rng.uniform(-0.2, 1.2, (5, 6)), rng.random((6, 8)) < 0.3
    fits, misses = "local_polynomials", "typical_misses"
    for name, *inputs in ((fits, asked, *known), (fits, asked, *known, skip), (misses, *known)):
        with jax.enable_x64(True):
            expected = np.asarray(getattr(polynomials, name)(*map(jnp.asarray, inputs)))
        found = getattr(torch_polynomials, name)(*map(torch.tensor, inputs)).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)
        assert np.any(found) == (points > 0 or name == misses)


def test_constants_are_those_of_fimjax():
    for name in ("FITS", "RIDGE", "BOUNDS", "LEAST_MISS", "UNKNOWN_MISS", "EDGE"):
        assert getattr(torch_polynomials, name) == getattr(polynomials, name)
    for name in ("LEAST_SPREAD", "LEAST_WINDOW_SPREAD"):
        assert getattr(torch_training, name) == getattr(losses, name)
    assert torch_layers.HIDDEN == attention.HIDDEN
    assert torch_models.NARROWEST_WINDOW == fim.NARROWEST_WINDOW
    assert torch_models.WAVES == queries.WAVES
    assert torch_training.WINDOW_CLIP == losses.WINDOW_CLIP
    assert torch_training.LEARNED_WINDOWS == losses.LEARNED_WINDOWS


def count(model) -> int:
    return sum(x.numel() for x in model.parameters())


def test_errors_name_what_is_missing(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="C.. compiler.*no-such-compiler"):
        make_step(SMALL["paper_fim_local"], compiled=True)
    with pytest.raises(ConfigError, match="precision"):
        make_forward(FULL["paper_fim_local"])
    with pytest.raises(ConfigError, match="learned_scale"):
        torch_models.build_model(dataclasses.replace(SMALL["paper_fim"].model, learned_scale=True))
