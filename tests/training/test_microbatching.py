"""Packed batches have the same loss and gradient as all slots, in one microbatch or several."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fimjax.models import build_model
from fimjax.prior.sampler import sample_groups
from fimjax.training.losses import packed_slots
from fimjax.training.microbatching import MULTIPLE, assign_microbatches, pack_windows, row_capacity, select_series
from fimjax.training.step import TrainStep
from fimjax.training.validation import validation_metrics
from tests.examples import with_params
from tests.training.examples import DEEPONET_RUN, FIM_LOCAL_RUN, FIM_RUN, PRIOR, REPORT_LOCAL_RUN, REPORT_RUN, WINDOWS

GROUPS = 8


@functools.cache
def drawn():
    sample = jax.jit(lambda key: sample_groups(key, 0, GROUPS, PRIOR, WINDOWS))(jax.random.key(1))
    return select_series(sample, jnp.arange(len(sample.season)) != 2)  # one empty series, as in every microbatch


def gradient(config, point_capacity, query_capacity):
    training = dataclasses.replace(config.training, point_capacity=point_capacity, query_capacity=query_capacity)
    config, (model, variables) = dataclasses.replace(config, training=training), with_params(config.model)
    # Biases are not zero, because LayerNorm would enlarge the rounding of a window with a single point.
    return jax.jit(TrainStep(config, model, GROUPS).total_gradient)(variables["params"], drawn())


@pytest.mark.parametrize(
    "config, capacities",  # for one or two microbatches, for several, and for as many as there can be
    [
        (FIM_RUN, [0.3]),
        (REPORT_RUN, [0.3]),
        (FIM_LOCAL_RUN, [0.3]),
        (REPORT_LOCAL_RUN, [0.6, 0.01]),
        (DEEPONET_RUN, [0.01]),
    ],
    ids=["fim", "fim_report", "fim_local", "fim_local_report", "deeponet"],
)
def test_packed_batches_have_the_same_gradient(config, capacities):
    value, count, grads = gradient(config, 1.0, 1.0)
    for capacity in capacities:
        other_value, other_count, other = gradient(config, capacity, capacity)
        np.testing.assert_allclose(other_value, value, rtol=1e-5)
        assert other_count == count > 0
        difference = optax.tree.norm(jax.tree.map(lambda a, b: a - b, other, grads))
        assert difference < 1e-4 * optax.tree.norm(grads)


def test_every_microbatch_fits_its_capacity():
    masks = packed_slots(build_model(FIM_LOCAL_RUN.model, WINDOWS.count), drawn())
    packed = list(zip(masks, (0.3, 0.2)))
    microbatch = assign_microbatches(packed)
    assert microbatch.max() > 0
    for i in range(int(microbatch.max()) + 1):
        for mask, share in packed:
            assert mask[microbatch == i].sum() <= row_capacity(mask.shape, share)


def test_one_microbatch_if_everything_fits():
    masks = [(jnp.ones((40, 2, 8), bool).at[:20].set(False), 0.5)]
    assert row_capacity((40, 2, 8), 0.5) == 320
    assert not assign_microbatches(masks).any()


@pytest.mark.parametrize("share", [1.0, 0.99])
def test_no_packing_if_it_saves_nothing(share):
    assert row_capacity((4, 2, 8), share) is None
    assert pack_windows(jnp.ones((4, 2, 8), bool), share) is None
    assert row_capacity((100, 2, 8), 0.5) % MULTIPLE == 0


def test_validation_counts_every_point_whatever_the_training_capacity():
    model, variables = with_params(FIM_RUN.model)
    tight = dataclasses.replace(FIM_RUN.training, point_capacity=0.01, query_capacity=0.01)

    def loss(training):
        metrics = jax.jit(lambda params, sample: validation_metrics(model, training, params, sample))
        return metrics(variables["params"], drawn())["loss"].value

    assert loss(FIM_RUN.training) == loss(tight)
