"""The paper-size training step in bfloat16, lowered for the accelerators that it is meant for."""

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from configs import chronos_bolt, mqcnn, nbeats, patchtst
from configs.paper_fim import get_config as paper_fim
from configs.paper_fim_local import get_config as paper_fim_local
from fimjax.models import build_model, init_params
from fimjax.nn.compute import Compute
from fimjax.prior.sampler import sample_group
from fimjax.training.parallel import parallel_training
from fimjax.training.step import init_state
from tests.examples import ALL_EFFECTS
from tests.training.examples import PRIOR, WINDOWS

ONE = jax.devices()[:1]


def paper_step(config):
    """The pmapped step and the shapes of its state, with one small group of families that compile fast."""
    prior = dataclasses.replace(config.prior, weights=PRIOR.weights, group_size=PRIOR.group_size)
    training = dataclasses.replace(config.training, batch_size=prior.group_size, steps_per_dispatch=1)
    config = dataclasses.replace(config, prior=prior, training=training)
    model = build_model(config.model, config.windows.count, Compute(jnp.bfloat16))
    state = jax.eval_shape(lambda key: init_state(config, init_params(model, key)), jax.random.key(0))
    stacked = jax.tree.map(lambda x: jax.ShapeDtypeStruct((1, *x.shape), x.dtype), state)
    return parallel_training(config, model, ONE), stacked


@pytest.mark.slow
@pytest.mark.parametrize("get_config", [paper_fim_local, paper_fim], ids=["fim_local", "fim"])
def test_the_papers_step(get_config):
    step, state = paper_step(get_config())
    traced = jax.jit(step).trace(state)
    for platform in ("cuda", "tpu"):
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        assert text.count("xbf16>") > 100 and "stablehlo.dot_general" in text
        # Embeddings of times stay float32 products even where the default is to round their factors.
        exact = [line for line in text.splitlines() if "dot_general" in line and "HIGHEST" in line]
        assert any("x1xf32>, tensor<1x256xf32>" in line for line in exact)


@pytest.mark.parametrize("module", [nbeats, mqcnn, patchtst, chronos_bolt], ids=lambda module: module.__name__[8:])
def test_the_step_of_the_papers_networks(module):
    step, state = paper_step(module.get_config())
    traced = jax.jit(step).trace(state)
    for platform in ("cuda", "tpu"):
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        assert text.count("xbf16>") > 100 and "stablehlo.dot_general" in text


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_the_whole_prior(platform):
    """Every family and effect, because an operation that one of them uses may be missing on an accelerator."""
    sampler = jax.jit(lambda key: sample_group(key, ALL_EFFECTS, WINDOWS)).trace(jax.random.key(0))
    assert "func.func public @main" in sampler.lower(lowering_platforms=(platform,)).as_text()
