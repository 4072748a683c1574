"""Schedules, weight decay, frozen parts, Muon."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from optax.contrib import MuonDimensionNumbers

from configs.paper_fim import get_config as paper_config
from fimjax.config import TrainingConfig
from fimjax.models import build_model, param_shapes
from fimjax.training.optim import (
    ADAM_RMS,
    MIN_MUON_WIDTH,
    decayed,
    frozen_parts,
    make_optimizer,
    make_schedule,
    orthogonalised,
    split_params,
)
from tests.examples import FIM, REPORT_FIM, WINDOW_COUNT


def test_the_papers_schedule():
    """1e-5 at first, 1e-4 after 100 steps of warm-up, then 1e-4 * sqrt(100 / step) down to the floor of 1e-5."""
    rate = make_schedule(paper_config().training)
    steps = [0, 50, 100, 400, 2_500, 10_000, 1_000_000]
    expected = [1e-5, 5e-5, 1e-4, 5e-5, 2e-5, 1e-5, 1e-5]
    np.testing.assert_allclose([rate(step) for step in steps], expected, rtol=1e-5)


def test_the_cosine_schedule():
    training = TrainingConfig(
        schedule="cosine", learning_rate=1e-3, min_learning_rate=1e-5, warmup_steps=100, steps=1_000
    )
    rate = make_schedule(training)
    np.testing.assert_allclose([rate(0), rate(100), rate(550), rate(1_000)], [1e-5, 1e-3, 5.05e-4, 1e-5], rtol=1e-5)


def test_only_matrices_decay():
    shapes = param_shapes(build_model(FIM, WINDOW_COUNT))
    for path, marked in jax.tree_util.tree_leaves_with_path(decayed(shapes)):
        assert marked == (path[-1].key == "kernel"), jax.tree_util.keystr(path)


def test_frozen_parts():
    assert frozen_parts(REPORT_FIM) == {"local"}
    assert frozen_parts(FIM) == frozenset()
    trained, kept = split_params({"local": 1, "summary": 2}, frozenset({"local"}))
    assert trained == {"summary": 2} and kept == {"local": 1}


def test_muon_updates_wide_matrices_only():
    shapes = param_shapes(build_model(FIM, WINDOW_COUNT))
    is_kind = lambda x: x is None or isinstance(x, MuonDimensionNumbers)
    for path, kind in jax.tree_util.tree_leaves_with_path(orthogonalised(shapes), is_leaf=is_kind):
        leaf = functools.reduce(lambda tree, part: tree[part.key], path, shapes)
        is_wide = path[-1].key == "kernel" and min(leaf.shape) >= MIN_MUON_WIDTH
        assert (kind is not None) == is_wide, jax.tree_util.keystr(path)


def test_muons_updates_have_orthogonal_rows_of_adams_size():
    params = {"layer": {"kernel": jnp.zeros((64, 32)), "bias": jnp.zeros(32)}}
    key = jax.random.key(0)
    gradients = jax.tree.map(lambda x: jax.random.normal(key, x.shape), params)
    training = TrainingConfig(optimizer="muon", schedule="cosine", learning_rate=1e-2, warmup_steps=0, weight_decay=0.0)
    optimizer = make_optimizer(training)
    updates, _ = optimizer.update(gradients, optimizer.init(params), params)
    kernel = np.asarray(updates["layer"]["kernel"]) / 1e-2
    sizes = np.linalg.svd(kernel, compute_uv=False)
    assert sizes.max() < 1.8 * sizes.min()  # 5.5 for the gradient itself
    np.testing.assert_allclose(np.sqrt(np.mean(kernel**2)), ADAM_RMS, rtol=0.2)
    sizes = np.abs(updates["layer"]["bias"])  # AdamW's first step has the same size for every gradient
    np.testing.assert_allclose(sizes, sizes[0], rtol=1e-3)
