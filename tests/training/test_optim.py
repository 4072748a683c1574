"""Schedule, weight decay, and what is frozen."""

import jax
import numpy as np

from configs.paper_fim import get_config as paper_config
from fimjax.config import TrainingConfig
from fimjax.models import build_model, init_params
from fimjax.training.optim import decayed, frozen_parts, make_schedule, split_params
from tests.training.examples import FIM_RUN, FORECASTER


def test_the_papers_schedule():
    """Floor at first, 1e-4 after 100 steps of warm-up, then 1e-4 * sqrt(100 / step) down to the floor of 1e-5."""
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


def test_weight_decay_is_for_matrices_only():
    model = build_model(FORECASTER)
    shapes = jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))
    for path, marked in jax.tree_util.tree_leaves_with_path(decayed(shapes)):
        assert marked == (path[-1].key == "kernel"), jax.tree_util.keystr(path)


def test_frozen_parts():
    assert frozen_parts(FORECASTER) == {"local"}
    assert frozen_parts(FIM_RUN.model) == frozenset()
    trained, kept = split_params({"local": 1, "summary": 2}, frozenset({"local"}))
    assert trained == {"summary": 2} and kept == {"local": 1}
