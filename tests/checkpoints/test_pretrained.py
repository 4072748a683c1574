"""Pretrained models: there and back, every kind of damage, bundled ones, training runs."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile

import chex
import jax
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from fimjax import weights
from fimjax.checkpoints.pretrained import DEFAULT, bundled, load_pretrained, save_pretrained
from fimjax.config import to_dict
from fimjax.errors import PretrainedError
from fimjax.models import count_params
from tests.inference.parameters import params_of
from tests.training.examples import FIM_RUN, LOCAL_RUN, RICH_RUN, ROOT

ABOUT = {"seed": 3, "steps": 6, "hardware": "a slide rule", "seconds": 1.5, "tags": ["tiny", "test"]}


def saved(folder, config=RICH_RUN, seed=0):
    save_pretrained(folder, config, params_of(config, seed), ABOUT)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("pretrained") / "whole")


@pytest.fixture
def copy(whole, tmp_path):
    """A saved model to be damaged."""
    return shutil.copytree(whole, tmp_path / "copy")


def rewrite_config(folder, change):
    entries = json.loads((folder / "config.json").read_text())
    change(entries)
    (folder / "config.json").write_text(json.dumps(entries))


def rewrite_weights(folder, data):
    """Puts other weights in, with the sum that fits them."""
    (folder / "model.safetensors").write_bytes(data)
    rewrite_config(folder, lambda entries: entries["about"].update(sha256=hashlib.sha256(data).hexdigest()))


def rewrite_arrays(folder, change):
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    change(arrays)
    rewrite_weights(folder, safetensors.numpy.save(arrays))


def refusal(source):
    """The one sentence with which a model is refused."""
    with pytest.raises(PretrainedError) as caught:
        load_pretrained(source)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("config", [FIM_RUN, RICH_RUN], ids=["paper", "rich"])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_saved_comes_back(tmp_path, config, seed):
    saved(tmp_path, config, seed)
    found, params, about = load_pretrained(tmp_path)
    assert found == config
    chex.assert_trees_all_equal(params, params_of(config, seed), strict=True)
    assert {type(x) for x in jax.tree.leaves(params)} == {np.ndarray}
    assert about.items() >= ABOUT.items()
    assert about["parameters"] == count_params(params)
    assert about["sha256"] == hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


def test_saving_what_was_loaded_gives_the_same_files(whole, tmp_path):
    save_pretrained(tmp_path, *load_pretrained(whole))
    for name in ("config.json", "model.safetensors"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_the_files_can_be_read_without_fimjax(whole):
    entries = json.loads((whole / "config.json").read_text())
    about = entries.pop("about")
    assert entries == json.loads(json.dumps(to_dict(RICH_RUN)))
    with safetensors.safe_open(whole / "model.safetensors", "np") as file:
        assert file.metadata() == {"format": "fimjax"}
        arrays = {name: file.get_tensor(name) for name in file.keys()}
    assert sum(x.size for x in arrays.values()) == about["parameters"]
    assert {x.dtype for x in arrays.values()} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(arrays["rescale/kernel"], params_of(RICH_RUN)["rescale"]["kernel"])
    assert any(name.startswith("local/") for name in arrays)


def test_arrays_of_any_layout_and_precision_are_stored_right(tmp_path):
    expected = jax.tree.map(lambda x: x.astype(ml_dtypes.bfloat16).astype(np.float32), params_of(RICH_RUN))
    for name, change in {
        "columns": np.asfortranarray,
        "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        "bfloat16": lambda x: x.astype(ml_dtypes.bfloat16),
        "device": jax.device_put,
    }.items():
        save_pretrained(tmp_path / name, RICH_RUN, jax.tree.map(change, expected), {})
        chex.assert_trees_all_equal(load_pretrained(tmp_path / name)[1], expected, strict=True)


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    with pytest.raises(PretrainedError, match="model: a FIMLocalConfig does not forecast"):
        save_pretrained(tmp_path, LOCAL_RUN, params_of(LOCAL_RUN), {})
    with pytest.raises(PretrainedError, match="is F32 .5,., not F32 .1,."):
        save_pretrained(tmp_path, FIM_RUN, params_of(RICH_RUN), {})
    for about in ({"loss": float("nan")}, {"when": object()}):
        with pytest.raises((TypeError, ValueError), match="JSON"):
            save_pretrained(tmp_path, RICH_RUN, params_of(RICH_RUN), about)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("replaced", [0, 1])
@pytest.mark.parametrize("before", [False, True], ids=["new", "over_another"])
def test_a_save_cut_short_is_never_taken_for_a_whole_one(tmp_path, monkeypatch, before, replaced):
    if before:
        saved(tmp_path, seed=1)
    done, replace = [], os.replace

    def fail_later(*names):
        if len(done) == replaced:
            raise KeyboardInterrupt
        done.append(replace(*names))

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", fail_later)
        saved(tmp_path, seed=2)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]
    if before and not replaced:
        chex.assert_trees_all_equal(load_pretrained(tmp_path)[1], params_of(RICH_RUN, 1))
    elif before:
        assert "model.safetensors: its SHA-256 sum" in refusal(tmp_path)
    elif replaced:
        assert "config.json: is missing" in refusal(tmp_path)
    else:
        assert "holds neither model.safetensors nor checkpoints" in refusal(tmp_path)


def test_the_files_of_two_models_are_not_mixed(copy, tmp_path):
    other = saved(tmp_path / "other", seed=1)
    shutil.copy(other / "model.safetensors", copy)
    assert "model.safetensors: its SHA-256 sum" in refusal(copy)
    shutil.copy(other / "config.json", copy)
    chex.assert_trees_all_equal(load_pretrained(copy)[1], params_of(RICH_RUN, 1))


@pytest.mark.parametrize(
    "damage", [lambda x: x[:-1], lambda x: x[:-1] + bytes([x[-1] ^ 1]), lambda x: b"", lambda x: x + x]
)
def test_damaged_weights_do_not_have_their_sum(copy, damage):
    path = copy / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    assert f"{path}: its SHA-256 sum" in refusal(copy)


@pytest.mark.parametrize("damage", [lambda x: x[:-1], lambda x: x[:50], lambda x: b"", lambda x: b"\xff" * 99])
def test_weights_that_are_no_safetensors(copy, damage):
    path = copy / "model.safetensors"
    rewrite_weights(copy, damage(path.read_bytes()))
    assert f"{path}: not a safetensors file" in refusal(copy)


def test_arrays_that_do_not_fit_the_model(copy):
    path, name = copy / "model.safetensors", "rescale/kernel"
    before = path.read_bytes()
    for change, complaint in (
        (lambda arrays: arrays.pop(name), "is missing"),
        (lambda arrays: arrays.update({f"{name}s": arrays[name]}), "is no parameter of the model in config.json"),
        (lambda arrays: arrays.update({name: arrays[name].T.copy()}), r"is F32 (2, 32), not F32 (32, 2) as in config"),
        (lambda arrays: arrays.update({name: arrays[name].astype("f2")}), r"is F16 (32, 2), not F32 (32, 2)"),
        (lambda arrays: arrays.update({name: arrays[name].astype(ml_dtypes.bfloat16)}), "is BF16 (32, 2), not F32"),
    ):
        rewrite_weights(copy, before)
        rewrite_arrays(copy, change)
        message = refusal(copy)
        assert message.startswith(f"{path}: {name}") and complaint in message


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda c: c["model"].update(colour="red"), "FIMConfig: unknown keys colour"),
        (lambda c: c.update(colour="red"), "Config: unknown keys colour"),
        (lambda c: c.pop("model"), "'model'"),
        (lambda c: c.pop("kind"), "kind: None is not one of"),
        (lambda c: c.pop("about"), "has no block 'about'"),
        (lambda c: c["about"].pop("sha256"), "about.sha256"),
        (lambda c: c["model"].update(windows=7), "model.windows: 7 differs from prior.windows 4"),
        (lambda c: c["model"].update(heads=3), "heads: 3 does not divide"),
        (lambda c: c["model"].update(heads="two"), "not a config of this version"),
        (lambda c: c["model"].update(layers=1.5), "model: cannot be built"),
        (lambda c: c.update(model=to_dict(LOCAL_RUN.model)), "model: a FIMLocalConfig does not forecast"),
        (lambda c: c.update(model=c["prior"]), "model: a PriorConfig does not forecast"),
        (lambda c: c.update(model=None), "model: a NoneType does not forecast"),
        (
            lambda c: [c.pop(k) for k in ("training", "prior", "members")] + [c.update(c.pop("model"))],
            "kind: FIMConfig is not the config",
        ),
    ],
)
def test_configs_that_are_refused(copy, change, complaint):
    rewrite_config(copy, change)
    message = refusal(copy)
    assert complaint in message and "config.json" in message and str(copy) in message


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b"\xff\xfe\x00"])
def test_a_config_that_is_no_json_object(copy, text):
    (copy / "config.json").write_bytes(text)
    assert refusal(copy).startswith(f"{copy / 'config.json'}: ")


def test_a_source_that_is_not_there(tmp_path):
    assert "nowhere' is neither a folder nor a bundled model" in refusal(tmp_path / "nowhere")
    assert "'fim-huge' is neither a folder nor a bundled model" in refusal("fim-huge")
    (tmp_path / "config.json").write_text("{}")
    assert "holds neither model.safetensors nor checkpoints" in refusal(tmp_path)
    assert "is neither a folder" in refusal(tmp_path / "config.json")


def test_no_bundled_models(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "files", lambda package: tmp_path)
    assert bundled() == {}
    assert "no bundled weights 'fim-small': give the folder of a training run" in refusal(None)


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_bundled_models(whole, tmp_path, monkeypatch, packed):
    place = folder = tmp_path / "weights"
    shutil.copytree(whole, folder / DEFAULT)
    saved(folder / "other", FIM_RUN, seed=1)
    (folder / "unfinished").mkdir()
    (folder / "__init__.py").touch()
    if packed:
        archive = shutil.make_archive(str(tmp_path / "packed"), "zip", folder)
        place = zipfile.Path(archive)
    monkeypatch.setattr(weights, "files", lambda package: place)
    monkeypatch.chdir(tmp_path)
    assert list(bundled()) == [DEFAULT, "other"]
    assert bundled()["other"].items() >= ABOUT.items()
    chex.assert_trees_all_equal(load_pretrained()[1], params_of(RICH_RUN))
    assert load_pretrained("other")[0] == FIM_RUN
    assert "one of fim-small, other" in refusal("unfinished")
    # A folder of the same name in the working directory does not take the place of a bundled model.
    shutil.copytree(whole, "other")
    assert load_pretrained("other")[0] == FIM_RUN
    assert load_pretrained("./other")[0] == RICH_RUN


def test_what_ships_can_be_loaded():
    assert DEFAULT in bundled() or not bundled()
    for name, about in bundled().items():
        config, params, same = load_pretrained(name)
        assert about == same and count_params(params) == about["parameters"]


def test_a_training_run(tmp_path):
    from fimjax.checkpoints.runs import Checkpoints, write_config
    from fimjax.training.parallel import replicate
    from fimjax.training.step import init_state

    one = jax.devices()[:1]
    for config in (FIM_RUN, LOCAL_RUN):
        run = tmp_path / type(config.model).__name__
        checkpoints = Checkpoints(run, config, one)
        checkpoints.save(1, replicate(init_state(config, params_of(config)), one), {"loss": 1.0})
        checkpoints.close()
        write_config(run, config)
    for folder in (tmp_path / "FIMConfig", tmp_path / "FIMConfig" / "checkpoints"):
        config, params, about = load_pretrained(folder)
        assert config == FIM_RUN and about == {}
        chex.assert_trees_all_equal(params, params_of(FIM_RUN), strict=True)
    assert "FIMLocalConfig: model: a FIMLocalConfig does not forecast" in refusal(tmp_path / "FIMLocalConfig")
    shutil.rmtree(tmp_path / "FIMConfig" / "checkpoints" / "1" / "params")
    assert f"{tmp_path / 'FIMConfig'}: the run cannot be read" in refusal(tmp_path / "FIMConfig")
    (tmp_path / "fresh" / "checkpoints").mkdir(parents=True)
    assert "the run cannot be read" in refusal(tmp_path / "fresh")


@pytest.mark.processes
def test_orbax_is_not_imported_without_need(whole):
    code = (
        "import sys; from fimjax.checkpoints.pretrained import load_pretrained; load_pretrained(sys.argv[1]); "
        "print([m for m in ('orbax', 'optax', 'pandas', 'matplotlib', 'fimjax.training') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(whole)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
