"""Initial parameters of a run: random, with a pretrained FIM-l, or those of an earlier training."""

import dataclasses

import chex
import jax
import numpy as np
import pytest

from fimjax.checkpoints.pretrained import save_pretrained
from fimjax.config import Config, TrainingConfig
from fimjax.errors import ConfigError
from fimjax.models import Params, build_model, param_shapes
from fimjax.training.init import initial_params
from tests.training.examples import FIM_RUN, REPORT_RUN


def random_params(config: Config) -> Params:
    rng = np.random.default_rng(0)
    shapes = param_shapes(build_model(config.model, config.windows.count))
    return jax.tree.map(lambda x: rng.normal(size=x.shape).astype(np.float32), shapes)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    save_pretrained(folder, FIM_RUN, random_params(FIM_RUN), {})
    return folder


def test_a_run_starts_from_saved_weights(weights):
    other_training = dataclasses.replace(FIM_RUN, training=TrainingConfig(seed=5))
    chex.assert_trees_all_equal(initial_params(other_training, begin_from=weights), random_params(FIM_RUN))


def test_random_parameters_depend_on_the_seed_alone():
    seeded = lambda seed: initial_params(dataclasses.replace(FIM_RUN, training=TrainingConfig(seed=seed)))
    chex.assert_trees_all_equal(seeded(1), seeded(1))
    first, second = seeded(1), seeded(2)
    assert np.any(first["query_decoder"]["trunk"]["kernel"] != second["query_decoder"]["trunk"]["kernel"])


def test_other_models_and_contradicting_sources_are_refused(weights, tmp_path):
    deeper = dataclasses.replace(FIM_RUN, model=dataclasses.replace(FIM_RUN.model, layers=7))
    with pytest.raises(
        ConfigError, match=r"begin_from: the model in .* has other settings: model.layers: 1 instead of 7"
    ):
        initial_params(deeper, begin_from=weights)
    with pytest.raises(ConfigError, match="begin_from: .* leave out --local"):
        initial_params(FIM_RUN, tmp_path / "local", weights)
    with pytest.raises(ConfigError, match="begin_from: .* is neither a folder nor a bundled model"):
        initial_params(FIM_RUN, begin_from=tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="local: the lab report's FIM needs a pretrained FIM-l"):
        initial_params(REPORT_RUN)
