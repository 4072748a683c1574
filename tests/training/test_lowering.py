"""The paper-size training step in bfloat16: compiled here, lowered for the accelerators it is meant for."""

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from configs.paper_fim import get_config as paper_fim
from configs.paper_fim_local import get_config as paper_fim_local
from fimjax.models import build_model, init_params
from fimjax.training.parallel import parallel_training
from fimjax.training.step import init_state
from tests.training.examples import PRIOR

ONE = jax.devices()[:1]


def paper_step(config):
    """The pmapped step and the shapes of its state; one group a step, for compiling needs no large batch."""
    training = dataclasses.replace(config.training, batch_size=config.prior.group_size, steps_per_dispatch=1)
    config = dataclasses.replace(config, training=training)
    model = build_model(config.model, jnp.bfloat16)
    state = jax.eval_shape(lambda key: init_state(config, init_params(model, key)), jax.random.key(0))
    stacked = jax.tree.map(lambda x: jax.ShapeDtypeStruct((1, *x.shape), x.dtype), state)
    return parallel_training(config, model, ONE), stacked


@pytest.mark.slow
@pytest.mark.parametrize("get_config", [paper_fim_local, paper_fim], ids=["fim_local", "fim"])
@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_the_papers_step_lowers_for_accelerators(get_config, platform):
    step, state = paper_step(get_config())
    text = jax.jit(step).trace(state).lower(lowering_platforms=(platform,)).as_text()
    assert text.count("xbf16>") > 100 and "stablehlo.dot_general" in text


@pytest.mark.slow
@pytest.mark.parametrize("get_config", [paper_fim_local, paper_fim], ids=["fim_local", "fim"])
def test_the_papers_step_compiles_here(get_config):
    # The small prior: what is large here is the network.
    config = get_config()
    prior = dataclasses.replace(PRIOR, windows=5, slots=128)
    step, state = paper_step(dataclasses.replace(config, prior=prior))
    compiled = step.lower(state).compile()
    assert compiled.memory_analysis().argument_size_in_bytes > 4 * 22_000_000
