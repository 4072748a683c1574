"""Fused attention and recomputed layers: other programs with the same outputs."""

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
from fimjax.models import build_model, init_params, param_shapes
from fimjax.nn.attention import fused_attention, masked_attention
from fimjax.nn.compute import Compute
from fimjax.prior.sampler import sample_group
from fimjax.training.loop import compute_options
from fimjax.training.parallel import parallel_training
from fimjax.training.step import TrainStep, init_state
from tests.examples import with_params
from tests.training.examples import FIM_RUN, PRIOR, REPORT_RUN, WINDOWS, run_config

FUSED = {"precision": "bfloat16", "attention": "cudnn"}


@pytest.fixture
def pretended_cudnn(monkeypatch):
    """Pretends that cuDNN is installed."""
    monkeypatch.setattr(cudnn, "check_cudnn_version", lambda: 91100)


def lowered_step(config, devices):
    """The text of the pmapped step, for CUDA."""
    model = build_model(config.model, config.windows.count, compute_options(config.training))
    state = jax.eval_shape(lambda key: init_state(config, init_params(model, key)), jax.random.key(0))
    stacked = jax.tree.map(lambda x: jax.ShapeDtypeStruct((devices, *x.shape), x.dtype), state)
    step = parallel_training(config, model, jax.devices()[:devices])
    return jax.jit(step).trace(stacked).lower(lowering_platforms=("cuda",)).as_text()


def fused_calls(text):
    """Numbers of forward and backward attentions on cuDNN."""
    names = re.findall(r"custom_call @__cudnn\$(\w+)", text)
    return names.count("fmhaScaleBiasSoftmax"), names.count("fmhaScaleBiasSoftmaxBackward")


# Layers of FIM-l's encoder, FIM's encoder, FIM's query decoder and FIM-l's; three seen windows, an odd number.
@pytest.mark.parametrize(
    "config, options, forward, backward",
    [
        (FIM_RUN, FUSED, 1 + 1 + 1 + 1, 1 + 1 + 1 + 1),
        (FIM_RUN, FUSED | {"remat": True}, 2 * 4, 4),
        (REPORT_RUN, FUSED, 1 + 1, 1),
        (REPORT_RUN, {"precision": "bfloat16"}, 0, 0),
    ],
    ids=["fim", "recomputed", "fim_report", "xla"],
)
def test_fused_attention_in_the_lowered_step(config, options, forward, backward, pretended_cudnn):
    config = run_config(config.model, batch_size=8, **options)
    assert fused_calls(lowered_step(config, 2)) == (forward, backward)


def test_fused_attention_in_the_papers_step(pretended_cudnn):
    config = paper_fim()
    prior = dataclasses.replace(config.prior, weights=PRIOR.weights, group_size=PRIOR.group_size)  # compile fast
    training = dataclasses.replace(config.training, batch_size=4 * prior.group_size, **FUSED)
    config = dataclasses.replace(config, prior=prior, training=training)
    assert fused_calls(lowered_step(config, 1)) == (6 + 8, 8)


@pytest.mark.parametrize("queries, tokens", [(6, 4), (5, 7), (1, 7)])
def test_fused_attention_equals_masked_attention(queries, tokens, monkeypatch):
    """With padded queries and tokens, and fully masked sets; JAX's own products stand in for the kernel."""
    plain = jax.nn.dot_product_attention
    monkeypatch.setattr(jax.nn, "dot_product_attention", lambda *args, mask, implementation: plain(*args, mask=mask))
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = [(3, 2, n, 8) for n in (queries, tokens, tokens, queries)]
    query, key, value, weights = (jax.random.normal(k, shape) for k, shape in zip(keys, shapes))
    mask = jnp.arange(tokens)[None] < jnp.array([tokens, 0, 3])[:, None]

    @functools.partial(jax.jit, static_argnums=0)
    def outputs_and_gradients(attend):
        total = lambda *parts: jnp.sum(weights * attend(*parts, mask))
        return attend(query, key, value, mask), *jax.grad(total, argnums=(0, 1, 2))(query, key, value)

    for ours, theirs in zip(outputs_and_gradients(fused_attention), outputs_and_gradients(masked_attention)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        assert not ours[1].any()


def test_head_sizes_that_cudnn_does_not_support_are_refused():
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


@pytest.mark.long
def test_recomputed_layers_have_the_same_gradient():
    config, layers = FIM_RUN, 4
    model, variables = with_params(config.model)
    recomputing = build_model(config.model, WINDOWS.count, Compute(remat=True))
    assert jax.tree.structure(param_shapes(recomputing)) == jax.tree.structure(param_shapes(model))

    sample = jax.jit(lambda key: sample_group(key, PRIOR, WINDOWS))(jax.random.key(1))
    gradients = [jax.jit(TrainStep(config, m, 1).total_gradient) for m in (model, recomputing)]
    texts = [str(gradient.trace(variables["params"], sample).jaxpr) for gradient in gradients]
    assert [text.count("remat") for text in texts] == [0, layers]
    (value, _, grads), (other_value, _, other) = (g(variables["params"], sample) for g in gradients)
    np.testing.assert_allclose(other_value, value, rtol=1e-6)
    difference = optax.tree.norm(jax.tree.map(lambda a, b: a - b, other, grads))
    assert difference < 1e-5 * optax.tree.norm(grads)
