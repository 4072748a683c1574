"""Fused attention, lowered for GPUs that are not here, and recomputed layers: other programs, the same answers."""

import dataclasses
import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax._src.cudnn import fused_attention_stablehlo as cudnn

from configs.paper_fim import get_config as paper_fim
from configs.tiny_fim import get_config as tiny_fim
from fimjax.errors import ConfigError
from fimjax.models import build_model, init_params
from fimjax.nn.attention import fused_attention, masked_attention
from fimjax.nn.compute import Compute
from fimjax.prior.sampler import sample_group
from fimjax.training.loop import compute_as
from fimjax.training.parallel import parallel_training
from fimjax.training.step import init_state, make_total_gradient
from tests.examples import QUERYING_FORECASTER, with_params
from tests.training.examples import FROZEN_RUN, PRIOR, run_config

QUERYING_RUN = run_config(dataclasses.replace(QUERYING_FORECASTER, windows=PRIOR.windows, interpolation_weight=0.5))
FUSED = {"precision": "bfloat16", "attention": "cudnn"}


@pytest.fixture
def pretended_cudnn(monkeypatch):
    """What a GPU would say when asked; on a CPU, JAX takes its computing capability for the least that will do."""
    monkeypatch.setattr(cudnn, "check_cudnn_version", lambda: 91100)


def lowered_step(config, devices):
    """The text of the pmapped step, for CUDA."""
    model = build_model(config.model, compute_as(config.training))
    state = jax.eval_shape(lambda key: init_state(config, init_params(model, key)), jax.random.key(0))
    stacked = jax.tree.map(lambda x: jax.ShapeDtypeStruct((devices, *x.shape), x.dtype), state)
    step = parallel_training(config, model, jax.devices()[:devices])
    return jax.jit(step).trace(stacked).lower(lowering_platforms=("cuda",)).as_text()


def fused_calls(text):
    """How many attentions run forward and backward on cuDNN."""
    names = re.findall(r"custom_call @__cudnn\$(\w+)", text)
    return names.count("fmhaScaleBiasSoftmax"), names.count("fmhaScaleBiasSoftmaxBackward")


# Layers of FIM-l's encoder, FIM's encoder, FIM's queries and FIM-l's queries; three seen windows, an odd number.
@pytest.mark.parametrize(
    "config, options, forward, backward",
    [
        (QUERYING_RUN, FUSED, 1 + 1 + 1 + 1, 1 + 1 + 1 + 1),
        (QUERYING_RUN, FUSED | {"remat": True}, 2 * 4, 4),
        (FROZEN_RUN, FUSED, 1 + 1, 1),
        (FROZEN_RUN, {"precision": "bfloat16"}, 0, 0),
    ],
    ids=["querying", "recomputed", "frozen", "plain"],
)
def test_fused_attention_in_the_lowered_step(config, options, forward, backward, pretended_cudnn):
    config = run_config(config.model, batch_size=8, **options)
    assert fused_calls(lowered_step(config, 2)) == (forward, backward)


def test_fused_attention_in_the_papers_step(pretended_cudnn):
    config = paper_fim()
    prior = dataclasses.replace(config.prior, weights=PRIOR.weights, group_size=PRIOR.group_size)  # compiles fast
    training = dataclasses.replace(config.training, batch_size=4 * prior.group_size, **FUSED)
    config = dataclasses.replace(config, prior=prior, training=training)
    assert fused_calls(lowered_step(config, 1)) == (6 + 8, 8)


@pytest.mark.parametrize("queries, tokens", [(6, 4), (5, 7), (1, 7)])
def test_fused_attention_is_the_same_attention(queries, tokens, monkeypatch):
    """Hidden queries and tokens, and sets with nothing to see, with JAX's own products in the place of the kernel."""
    plain = jax.nn.dot_product_attention
    monkeypatch.setattr(jax.nn, "dot_product_attention", lambda *args, mask, implementation: plain(*args, mask=mask))
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = [(3, 2, n, 8) for n in (queries, tokens, tokens, queries)]
    query, key, value, weights = (jax.random.normal(k, shape) for k, shape in zip(keys, shapes))
    mask = jnp.arange(tokens)[None] < jnp.array([tokens, 0, 3])[:, None]

    @functools.partial(jax.jit, static_argnums=0)
    def answer(attend):
        total = lambda *parts: jnp.sum(weights * attend(*parts, mask))
        return attend(query, key, value, mask), *jax.grad(total, argnums=(0, 1, 2))(query, key, value)

    for ours, theirs in zip(answer(fused_attention), answer(masked_attention)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        assert not ours[1].any()


def test_heads_that_cudnn_cannot_serve_are_refused():
    config = tiny_fim()
    training = dataclasses.replace(config.training, **FUSED)
    message = r"training\.attention: .* not 12: model\.heads 4 share 2 \* model\.local\.width = 48"
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(config, training=training)
    local = dataclasses.replace(config.model.local, heads=4)
    with pytest.raises(ConfigError, match=r"not 12: model\.heads 4 share 2 \* model\.width = 48"):
        dataclasses.replace(config, model=local, training=training)
    inner = dataclasses.replace(config.model, heads=2, local=local)
    with pytest.raises(ConfigError, match=r"not 12: model\.local\.heads 4 share 2 \* model\.local\.width = 48"):
        dataclasses.replace(config, model=inner, training=training)


def test_recomputed_layers_have_the_same_gradient():
    config, layers = QUERYING_RUN, 4
    model, variables = with_params(config.model)
    recomputing = build_model(config.model, Compute(remat=True))
    fresh = lambda model: jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))
    assert jax.tree.structure(fresh(recomputing)) == jax.tree.structure(fresh(model))

    sample = jax.jit(lambda key: sample_group(key, PRIOR))(jax.random.key(1))
    gradients = [jax.jit(make_total_gradient(config, m)) for m in (model, recomputing)]
    texts = [str(gradient.trace(variables["params"], sample).jaxpr) for gradient in gradients]
    assert [text.count("remat") for text in texts] == [0, layers]
    (value, _, grads), (other_value, _, other) = (g(variables["params"], sample) for g in gradients)
    np.testing.assert_allclose(other_value, value, rtol=1e-6)
    difference = optax.tree.norm(jax.tree.map(lambda a, b: a - b, other, grads))
    assert difference < 1e-5 * optax.tree.norm(grads)
