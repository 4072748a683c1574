"""The pure step, alone and on several devices."""

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
from fimjax.training.losses import make_loss
from fimjax.training.optim import make_optimizer
from fimjax.training.parallel import (
    first,
    parallel_gradient,
    parallel_training,
    parallel_validation,
    replicate,
    training_groups,
)
from fimjax.training.step import inference_params, init_state, make_train_step
from tests.training.examples import FIM_RUN, FROZEN_RUN, LOCAL_RUN, OPERATOR_RUN, PRIOR, RICH_RUN, run_config


def fresh(config, seed=0):
    model = build_model(config.model)
    params = jax.jit(lambda key: init_params(model, key))(jax.random.key(seed))
    return model, init_state(config, params)


def run_steps(config, state, count, devices=1):
    devices = jax.devices()[:devices]
    model = build_model(config.model)
    step, stacked = parallel_training(config, model, devices), replicate(state, devices)
    for _ in range(count):
        stacked, metrics = step(stacked)
    return first(stacked), first(metrics)


@pytest.mark.parametrize(
    "config, counts", [(OPERATOR_RUN, (1, 4)), (RICH_RUN, (1, 2))], ids=["interpolation", "forecasting"]
)
def test_raw_gradients_agree_on_any_number_of_devices(config, counts):
    """Raw ones: Adam and clipping would hide a gradient that is too large by the number of devices.

    Of whole windows: one of a single point is all zeros to a network that has learned nothing, and LayerNorm makes a
    gradient of millions out of that, in which rounding is all that shows.
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
        # Series are drawn in batches of other sizes, and rounded otherwise: windows of a steep rise feel it most.
        np.testing.assert_allclose(other_loss, loss, rtol=1e-4)
        difference = float(optax.tree.norm(jax.tree.map(lambda a, b: a - b, other, grads)))
        assert difference < 1e-4 * norm


def test_validation_agrees_on_any_number_of_devices():
    model, state = fresh(OPERATOR_RUN)
    metrics = [
        first(parallel_validation(OPERATOR_RUN, model, jax.devices()[:n])(replicate(state, jax.devices()[:n])))
        for n in (1, 4)
    ]
    chex.assert_trees_all_close(*metrics, rtol=1e-4)


def test_frozen_parameters_stay_identical_and_have_no_moments():
    _, state = fresh(FROZEN_RUN)
    moments = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(state.optimizer)]
    assert any("window_encoder" in path for path in moments)
    assert not any("local" in path for path in moments)
    before = jax.tree.map(np.asarray, state.params)
    after, _ = run_steps(FROZEN_RUN, state, 3, devices=2)
    chex.assert_trees_all_equal(after.params["local"], before["local"])
    changed = jax.tree.map(lambda a, b: bool(np.any(a != b)), after.params["window_encoder"], before["window_encoder"])
    assert sum(jax.tree.leaves(changed)) > len(jax.tree.leaves(changed)) / 2


def test_unfrozen_fim_trains_its_fim_l_too():
    _, state = fresh(FIM_RUN)
    moments = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(state.optimizer)]
    assert any("local" in path for path in moments)


def test_a_non_finite_step_changes_nothing_but_the_counters(monkeypatch):
    import fimjax.training.step as step_module

    honest = step_module.make_gradient

    def sometimes_broken(*args):
        gradient = honest(*args)

        def broken(state):
            loss, grads = gradient(state)
            factor = jnp.where((state.step == 1) | (state.step == 2), jnp.nan, 1.0)
            return loss, jax.tree.map(lambda g: g * factor, grads)

        return broken

    monkeypatch.setattr(step_module, "make_gradient", sometimes_broken)
    config = run_config(OPERATOR_RUN.model, average_decay=0.5)
    _, state = fresh(config)
    step = jax.jit(make_train_step(config, build_model(config.model), training_groups(config, jax.devices()[:1])))
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
    # A large epsilon, for Adam would blow rounding up to a full step where a gradient is all but zero.
    apart = run_config(OPERATOR_RUN.model, epsilon=1e-2)
    _, state = fresh(apart)
    one_by_one, _ = run_steps(apart, state, 3)
    at_once = run_config(OPERATOR_RUN.model, epsilon=1e-2, steps_per_dispatch=3, log_every=3)
    together, metrics = run_steps(at_once, state, 1)
    assert together.step == 3 and np.isfinite(metrics["loss"])
    chex.assert_trees_all_close(together.params, one_by_one.params, rtol=1e-4, atol=1e-6)


def test_averaged_parameters():
    config = run_config(OPERATOR_RUN.model, average_decay=0.75)
    _, state = fresh(config)
    before = jax.tree.map(np.asarray, state.params)
    after, _ = run_steps(config, state, 1)
    expected = jax.tree.map(lambda a, b: 0.75 * a + 0.25 * b, before, after.params)
    chex.assert_trees_all_close(inference_params(after), expected, rtol=1e-5, atol=1e-7)


def test_bfloat16_touches_neither_parameters_nor_moments():
    config = run_config(FIM_RUN.model, precision="bfloat16")
    _, state = fresh(config)
    model = build_model(config.model, Compute(jnp.bfloat16))
    step = jax.jit(make_train_step(config, model, training_groups(config, jax.devices()[:1])))
    new, metrics = jax.eval_shape(step, state)
    floats = [x for x in jax.tree.leaves((new, metrics)) if jnp.issubdtype(x.dtype, jnp.floating)]
    chex.assert_type(floats, jnp.float32)
    text = str(jax.make_jaxpr(lambda s: step(s))(state))
    assert "bf16" in text  # else the test would say nothing of mixed precision


@pytest.mark.parametrize("config", [LOCAL_RUN, OPERATOR_RUN, RICH_RUN], ids=["fim_local", "deeponet", "fim"])
def test_a_model_can_overfit_one_batch(config):
    config = run_config(config.model, learning_rate=3e-3, warmup_steps=10)
    model, state = fresh(config)
    loss, optimizer = make_loss(model, config.training), make_optimizer(config.training)
    sample = jax.jit(lambda key: sample_group(key, PRIOR))(jax.random.key(1))
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
        training_groups(run_config(LOCAL_RUN.model, batch_size=18), jax.devices()[:2])
