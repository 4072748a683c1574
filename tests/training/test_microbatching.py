"""Packed batches: the same loss and gradient as over all slots, in as many rounds as they need."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fimjax.models import build_model
from fimjax.prior.sampler import sample_groups
from fimjax.training.losses import points_and_questions
from fimjax.training.microbatching import MULTIPLE, assign_microbatches, only, pack_windows, room_for
from fimjax.training.step import make_total_gradient
from fimjax.training.validation import make_evaluation
from tests.examples import QUERYING_FORECASTER, with_params
from tests.training.examples import FIM_RUN, FROZEN_RUN, LOCAL_RUN, OPERATOR_RUN, PRIOR, RICH_LOCAL_RUN, RICH_RUN

QUERYING_RUN = dataclasses.replace(
    RICH_RUN, model=dataclasses.replace(QUERYING_FORECASTER, windows=PRIOR.windows, interpolation_weight=0.5)
)
GROUPS = 8


@functools.cache
def drawn(prior):
    sample = jax.jit(lambda key: sample_groups(key, 0, GROUPS, prior))(jax.random.key(1))
    return only(sample, jnp.arange(len(sample.season)) != 2)  # one series without anything, as in every round


def gradient(config, point_capacity, query_capacity):
    training = dataclasses.replace(config.training, point_capacity=point_capacity, query_capacity=query_capacity)
    config, (model, variables) = dataclasses.replace(config, training=training), with_params(config.model)
    # Away from zero biases, with which a window of one point is all rounding, blown up by the first LayerNorm.
    return jax.jit(make_total_gradient(config, model))(variables["params"], drawn(config.prior))


@pytest.mark.parametrize(
    "config, rooms",
    [
        (QUERYING_RUN, [0.3]),
        (FIM_RUN, [0.6]),
        (FROZEN_RUN, [0.3]),
        (LOCAL_RUN, [0.6, 0.01]),
        (RICH_LOCAL_RUN, [0.3]),
        (OPERATOR_RUN, [0.6, 0.01]),
    ],
    ids=["querying", "plain", "frozen", "interpolator", "quantiles", "operator"],
)
def test_packed_batches_have_the_same_gradient(config, rooms):
    value, count, grads = gradient(config, 1.0, 1.0)
    for room in rooms:  # for one round or two, for some, and for as many as there can be
        other_value, other_count, other = gradient(config, room, room)
        np.testing.assert_allclose(other_value, value, rtol=1e-5)
        assert other_count == count > 0
        difference = optax.tree.norm(jax.tree.map(lambda a, b: a - b, other, grads))
        assert difference < 1e-4 * optax.tree.norm(grads)


def test_every_round_fits_and_no_series_is_left_out():
    sample = drawn(RICH_LOCAL_RUN.prior)
    masks = points_and_questions(build_model(RICH_LOCAL_RUN.model), sample)
    packed = list(zip(masks, (0.3, 0.2)))
    rounds = assign_microbatches(packed)
    assert rounds.max() > 0
    for i in range(int(rounds.max()) + 1):
        for mask, share in packed:
            assert mask[rounds == i].sum() <= room_for(mask.shape, share)


def test_one_round_if_all_of_it_fits():
    masks = [(jnp.ones((40, 2, 8), bool).at[:20].set(False), 0.5)]
    assert room_for((40, 2, 8), 0.5) == 320
    assert not assign_microbatches(masks).any()


@pytest.mark.parametrize("share", [1.0, 0.99])
def test_no_packing_where_it_would_save_nothing(share):
    assert room_for((4, 2, 8), share) is None
    assert pack_windows(jnp.ones((4, 2, 8), bool), share) is None
    assert room_for((100, 2, 8), 0.5) % MULTIPLE == 0


def test_validation_counts_every_point_however_little_room_training_has():
    model, variables = with_params(QUERYING_RUN.model)
    sample = drawn(QUERYING_RUN.prior)
    tight = dataclasses.replace(QUERYING_RUN.training, point_capacity=0.01, query_capacity=0.01)
    metrics = [
        jax.jit(make_evaluation(model, training))(variables["params"], sample)["loss"].value
        for training in (QUERYING_RUN.training, tight)
    ]
    assert metrics[0] == metrics[1]
