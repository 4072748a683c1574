"""Where the parameters of a run come from when another one was before it."""

import dataclasses

import chex
import jax
import pytest

from configs.small_fim import get_config as small_config
from fimjax.checkpoints.pretrained import save_pretrained
from fimjax.config import TrainingConfig
from fimjax.errors import ConfigError
from fimjax.models import build_model, init_params
from fimjax.training.init import initial_params
from tests.inference.small import forecaster


def seeded(config, seed):
    return dataclasses.replace(config, training=TrainingConfig(seed=seed))


def test_a_run_begins_from_saved_weights(tmp_path):
    model = forecaster()
    model.save_pretrained(tmp_path / "weights")
    chex.assert_trees_all_equal(initial_params(model.config, begin_from=tmp_path / "weights"), model.params)


@pytest.mark.parametrize("seed, member", [(0, 0), (1, 1), (2, 0)])
def test_of_several_members_the_seed_says_which(tmp_path, seed, member):
    model = forecaster()
    model.params = jax.tree.map(lambda x: jax.numpy.stack([x, x + 1.0]), model.params)
    model.config = dataclasses.replace(model.config, members=2)
    model.save_pretrained(tmp_path / "weights")
    config = seeded(dataclasses.replace(model.config, members=1), seed)
    expected = jax.tree.map(lambda x: x[member], model.params)
    chex.assert_trees_all_equal(initial_params(config, begin_from=tmp_path / "weights"), expected)


def test_another_model_and_a_second_beginning_are_refused(tmp_path):
    model = forecaster()
    model.save_pretrained(tmp_path / "weights")
    wider = dataclasses.replace(model.config, model=dataclasses.replace(model.config.model, layers=7))
    with pytest.raises(ConfigError, match=r"begin_from: the model in .* is another one: model.layers: "):
        initial_params(wider, begin_from=tmp_path / "weights")
    with pytest.raises(ConfigError, match="begin_from: .* leave out --local"):
        initial_params(model.config, tmp_path / "local", tmp_path / "weights")


def test_features_that_came_later_count_for_nothing_at_first(tmp_path):
    config = small_config()
    plain = dataclasses.replace(config, model=dataclasses.replace(config.model, unit_by_share=False, anchor_base=False))
    model = build_model(plain.model)
    shapes = jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))
    ones = jax.tree.map(lambda x: jax.numpy.ones(x.shape, x.dtype), shapes)
    save_pretrained(tmp_path / "weights", plain, ones, {})
    earlier, params = (initial_params(c, begin_from=tmp_path / "weights") for c in (plain, config))
    embedding = lambda tree: tree["query_decoder"]["embedding"]["Dense_0"]["kernel"]
    before, after = embedding(earlier), embedding(params)
    assert len(after) == len(before) + 2 and not after[len(before) :].any()
    chex.assert_trees_all_equal(after[: len(before)], before)
    chex.assert_tree_all_finite(params)
    with pytest.raises(ConfigError, match="model.anchor_base: .*model.unit_by_share: "):
        save_pretrained(tmp_path / "later", config, params, {})
        initial_params(plain, begin_from=tmp_path / "later")
