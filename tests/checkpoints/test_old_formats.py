"""Weights and runs of fimjax 0.1, whose configs have no schema version, can still be loaded."""

import contextlib
import hashlib
import json
from pathlib import Path

import chex
import jax
import numpy as np
import pytest
import safetensors.numpy

from fimjax.checkpoints import runs
from fimjax.checkpoints.pretrained import DEFAULT, load_pretrained
from fimjax.checkpoints.runs import RunCheckpoints, load_run
from fimjax.config import from_dict
from fimjax.config.migration import upgrade_parameter_name
from fimjax.errors import PretrainedError
from fimjax.models import Params, build_model, param_shapes
from fimjax.weights import bundled_folders

OLD_CONFIG = Path(__file__).parents[1] / "golden" / "old_weights" / "config.json"
OLD_NAMES = {"point_embedding": "place_embedding", "baseline_weights": "trust"}


def old_name(name: str) -> str:
    """The name of a parameter in fimjax 0.1."""
    return "/".join(OLD_NAMES.get(part, part) for part in name.split("/"))


def rename_modules(tree: Params) -> Params:
    """A tree of parameters under its old names."""
    rename = lambda value: rename_modules(value) if isinstance(value, dict) else value
    return {old_name(key): rename(value) for key, value in tree.items()}


@pytest.fixture
def old_folder(tmp_path) -> Path:
    """The bundled weights as fimjax 0.1 wrote them."""
    stored = safetensors.numpy.load(bundled_folders()[DEFAULT].joinpath("model.safetensors").read_bytes())
    arrays = {old_name(upgrade_parameter_name(name)): array for name, array in stored.items()}
    assert {"place_embedding/Dense_0/kernel", "local/query_decoder/trust/kernel"} <= set(arrays)
    weights = safetensors.numpy.save(arrays, metadata={"format": "fimjax"})
    entries = json.loads(OLD_CONFIG.read_text())
    assert "schema" not in entries
    entries["about"]["sha256"] = hashlib.sha256(weights).hexdigest()
    (tmp_path / "model.safetensors").write_bytes(weights)
    (tmp_path / "config.json").write_text(json.dumps(entries))
    return tmp_path


def test_old_weights_give_the_same_config_and_parameters(old_folder):
    old_config, old_params, about = load_pretrained(old_folder)
    config, params, _ = load_pretrained(DEFAULT)
    assert old_config == config
    chex.assert_trees_all_equal(old_params, params, strict=True)
    assert about["parameters"] == sum(x.size for x in jax.tree.leaves(params))


@pytest.mark.parametrize(
    "part, key, value, message",
    [
        (
            None,
            "members",
            3,
            "members: 3 networks in one model are no longer supported; fimjax 0.1 reads these weights",
        ),
        ("model", "smoothers", False, "model.smoothers: False is an option that fimjax no longer has"),
        ("model", "learned_scale", True, "model.learned_scale: True is an option that fimjax no longer has"),
        ("model", "norm_first", False, "model.norm_first: False is an option that fimjax no longer has"),
    ],
)
def test_old_weights_with_a_removed_option_are_refused_in_one_sentence(old_folder, part, key, value, message):
    entries = json.loads((old_folder / "config.json").read_text())
    (entries if part is None else entries[part])[key] = value
    (old_folder / "config.json").write_text(json.dumps(entries))
    with pytest.raises(PretrainedError) as caught:
        load_pretrained(old_folder)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_an_old_run_can_be_loaded_for_inference(tmp_path, monkeypatch):
    entries = json.loads(OLD_CONFIG.read_text())
    del entries["about"]
    config = from_dict(entries)
    shapes = param_shapes(build_model(config.model, config.windows.count))
    params = jax.tree.map(lambda x: np.full(x.shape, x.size, x.dtype), shapes)
    monkeypatch.setattr(runs, "to_dict", lambda config: entries)
    with contextlib.closing(RunCheckpoints(tmp_path, config)) as checkpoints:
        checkpoints.save(1, rename_modules(params), {"step": np.array(1)}, {"loss": 1.0})
    found_config, found = load_run(tmp_path)
    assert found_config == config
    chex.assert_trees_all_equal(found, params, strict=True)
