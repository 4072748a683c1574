"""A training step as a pure function, and on several devices."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fimjax.errors import ConfigError
from fimjax.models import build_model, init_params
from fimjax.nn.compute import Compute
from fimjax.prior.sampler import sample_group
from fimjax.training.losses import Loss
from fimjax.training.optim import make_optimizer
from fimjax.training.parallel import (
    first,
    parallel_gradient,
    parallel_training,
    parallel_validation,
    replicate,
    training_groups,
)
from fimjax.training.step import TrainStep, inference_params, init_state
from tests.training.examples import (
    DEEPONET_RUN,
    FIM_LOCAL_RUN,
    FIM_RUN,
    PRIOR,
    REPORT_LOCAL_RUN,
    REPORT_RUN,
    WINDOWS,
    run_config,
)


def fresh(config, seed=0):
    model = build_model(config.model, config.windows.count)
    params = jax.jit(lambda key: init_params(model, key))(jax.random.key(seed))
    return model, init_state(config, params)


def run_steps(config, state, count, devices=1):
    devices = jax.devices()[:devices]
    model = build_model(config.model, config.windows.count)
    step, stacked = parallel_training(config, model, devices), replicate(state, devices)
    for _ in range(count):
        stacked, metrics = step(stacked)
    return first(stacked), first(metrics)


@pytest.mark.parametrize(
    "config, counts", [(DEEPONET_RUN, (1, 4)), (REPORT_RUN, (1, 2))], ids=["interpolation", "forecasting"]
)
def test_raw_gradients_agree_on_any_number_of_devices(config, counts):
    """Raw gradients, because Adam and clipping would hide one that is too large by the number of devices.

    Windows are complete, because LayerNorm turns the zeros of a window with a single point into a gradient of millions,
    which is all rounding.
    """
    config = dataclasses.replace(config, prior=dataclasses.replace(config.prior, missing=0.0, short_history=0.0))
    model, state = fresh(config)
    results = []
    for count in counts:
        devices = jax.devices()[:count]
        results.append(first(parallel_gradient(config, model, devices)(replicate(state, devices))))
    loss, grads = results[0]
    norm = float(optax.tree.norm(grads))
    assert norm > 0
    for other_loss, other in results[1:]:
        # Batches of other sizes are rounded differently.
        np.testing.assert_allclose(other_loss, loss, rtol=1e-4)
        difference = float(optax.tree.norm(jax.tree.map(lambda a, b: a - b, other, grads)))
        assert difference < 1e-4 * norm


def test_validation_agrees_on_any_number_of_devices():
    model, state = fresh(DEEPONET_RUN)
    metrics = [
        first(parallel_validation(DEEPONET_RUN, model, jax.devices()[:n])(replicate(state, jax.devices()[:n])))
        for n in (1, 4)
    ]
    chex.assert_trees_all_close(*metrics, rtol=1e-4)


def test_the_reports_fim_l_is_frozen_and_has_no_moments():
    _, state = fresh(REPORT_RUN)
    moments = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(state.optimizer)]
    assert any("window_encoder" in path for path in moments)
    assert not any("local" in path for path in moments)
    before = jax.tree.map(np.asarray, state.params)
    after, _ = run_steps(REPORT_RUN, state, 3, devices=2)
    chex.assert_trees_all_equal(after.params["local"], before["local"])
    changed = jax.tree.map(lambda a, b: bool(np.any(a != b)), after.params["window_encoder"], before["window_encoder"])
    assert sum(jax.tree.leaves(changed)) > len(jax.tree.leaves(changed)) / 2


def test_the_shipped_fim_trains_its_fim_l():
    _, state = fresh(FIM_RUN)
    moments = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(state.optimizer)]
    assert any("local" in path for path in moments)


class SometimesNaN(TrainStep):
    """A step whose gradient is NaN at steps 1 and 2."""

    def gradient(self, state):
        loss, grads = super().gradient(state)
        factor = jnp.where((state.step == 1) | (state.step == 2), jnp.nan, 1.0)
        return loss, jax.tree.map(lambda g: g * factor, grads)


def test_a_non_finite_step_changes_nothing_but_the_counters():
    config = run_config(DEEPONET_RUN.model, average_decay=0.5)
    model, state = fresh(config)
    step = jax.jit(SometimesNaN(config, model, training_groups(config, jax.devices()[:1])))
    good, _ = step(state)
    bad, metrics = step(good)
    worse, _ = step(bad)
    assert (metrics["skipped"], metrics["bad_run"]) == (1, 1)
    assert (worse.skipped, worse.bad_run, worse.step) == (2, 2, 3)
    for name in ("params", "average", "optimizer"):
        chex.assert_trees_all_equal(getattr(worse, name), getattr(good, name))
    again, _ = step(worse)
    assert (again.skipped, again.bad_run) == (2, 0)
    assert optax.tree.norm(jax.tree.map(lambda a, b: a - b, again.params, worse.params)) > 0


def test_several_steps_in_one_dispatch_are_the_same_steps():
    # A large epsilon, because Adam would enlarge rounding to a full step where a gradient is nearly zero.
    apart = run_config(DEEPONET_RUN.model, epsilon=1e-2)
    _, state = fresh(apart)
    one_by_one, _ = run_steps(apart, state, 3)
    at_once = run_config(DEEPONET_RUN.model, epsilon=1e-2, steps_per_dispatch=3, log_every=3)
    together, metrics = run_steps(at_once, state, 1)
    assert together.step == 3 and np.isfinite(metrics["loss"])
    chex.assert_trees_all_close(together.params, one_by_one.params, rtol=1e-4, atol=1e-6)


def test_averaged_parameters():
    config = run_config(DEEPONET_RUN.model, average_decay=0.75)
    _, state = fresh(config)
    before = jax.tree.map(np.asarray, state.params)
    after, _ = run_steps(config, state, 1)
    expected = jax.tree.map(lambda a, b: 0.75 * a + 0.25 * b, before, after.params)
    chex.assert_trees_all_close(inference_params(after), expected, rtol=1e-5, atol=1e-7)


def test_bfloat16_touches_neither_parameters_nor_moments():
    config = run_config(FIM_RUN.model, precision="bfloat16")
    _, state = fresh(config)
    model = build_model(config.model, WINDOWS.count, Compute(jnp.bfloat16))
    step = jax.jit(TrainStep(config, model, training_groups(config, jax.devices()[:1])))
    new, metrics = jax.eval_shape(step, state)
    floats = [x for x in jax.tree.leaves((new, metrics)) if jnp.issubdtype(x.dtype, jnp.floating)]
    chex.assert_type(floats, jnp.float32)
    text = str(jax.make_jaxpr(lambda s: step(s))(state))
    assert "bf16" in text  # otherwise the test would say nothing about mixed precision


@pytest.mark.parametrize(
    "config",
    [FIM_LOCAL_RUN, REPORT_LOCAL_RUN, DEEPONET_RUN, FIM_RUN],
    ids=["fim_local", "fim_local_report", "deeponet", "fim"],
)
def test_a_model_can_overfit_one_batch(config):
    config = run_config(config.model, learning_rate=3e-3, warmup_steps=10)
    model, state = fresh(config)
    loss, optimizer = Loss(model, config.training), make_optimizer(config.training)
    sample = jax.jit(lambda key: sample_group(key, PRIOR, WINDOWS))(jax.random.key(1))
    value_and_grad = jax.value_and_grad(lambda params: loss(params, sample).value)

    @jax.jit
    def fit(params):
        def step(carry, _):
            params, moments = carry
            value, grads = value_and_grad(params)
            updates, moments = optimizer.update(grads, moments, params)
            return (optax.apply_updates(params, updates), moments), value

        return jax.lax.scan(step, (params, optimizer.init(params)), length=500)[1]

    history = fit(state.params)
    assert history[-1] < 0.2 * history[0], (history[0], history[-1])


def test_a_batch_that_devices_cannot_share_is_refused():
    with pytest.raises(ConfigError, match=r"training\.batch_size: 18 .* multiple of 8"):
        training_groups(run_config(DEEPONET_RUN.model, batch_size=18), jax.devices()[:2])
