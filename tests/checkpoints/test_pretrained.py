"""Pretrained models: saving and loading, every kind of damage, bundled models, training runs."""

import contextlib
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
from fimjax.checkpoints.runs import RunCheckpoints, write_config
from fimjax.config import Config, to_dict
from fimjax.errors import PretrainedError
from fimjax.models import Params, build_model, count_params, param_shapes
from fimjax.training.parallel import replicate, to_global
from fimjax.training.step import init_state, split_for_checkpoint
from tests.training.examples import FIM_RUN, QUANTILE_REPORT_RUN, REPORT_LOCAL_RUN, REPORT_RUN, ROOT

ONE = jax.devices()[:1]
ABOUT = {"seed": 3, "steps": 6, "hardware": "a laptop", "seconds": 1.5, "tags": ["tiny", "test"]}


def params_of(config: Config, seed: int = 0) -> Params:
    """Random parameters of a run's model as NumPy arrays, made without compiling anything."""
    rng = np.random.default_rng(seed)
    shapes = param_shapes(build_model(config.model, config.windows.count))
    return jax.tree.map(lambda x: 0.3 * rng.normal(size=x.shape).astype(x.dtype), shapes)


def saved(folder, config=QUANTILE_REPORT_RUN, seed=0):
    save_pretrained(folder, config, params_of(config, seed), ABOUT)
    return folder


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("pretrained") / "intact")


@pytest.fixture
def copy(intact, tmp_path):
    """A saved model that a test may damage."""
    return shutil.copytree(intact, tmp_path / "copy")


def rewrite_config(folder, change):
    entries = json.loads((folder / "config.json").read_text())
    change(entries)
    (folder / "config.json").write_text(json.dumps(entries))


def rewrite_weights(folder, data):
    """Replaces the weights, with a matching checksum."""
    (folder / "model.safetensors").write_bytes(data)
    rewrite_config(folder, lambda entries: entries["about"].update(sha256=hashlib.sha256(data).hexdigest()))


def rewrite_arrays(folder, change):
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    change(arrays)
    rewrite_weights(folder, safetensors.numpy.save(arrays))


def refusal(source):
    """The sentence with which a model is refused."""
    with pytest.raises(PretrainedError) as caught:
        load_pretrained(source)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("config", [FIM_RUN, REPORT_RUN, QUANTILE_REPORT_RUN], ids=["fim", "report", "quantiles"])
@pytest.mark.parametrize("seed", [0, 1])
def test_loading_returns_what_was_saved(tmp_path, config, seed):
    saved(tmp_path, config, seed)
    found, params, about = load_pretrained(tmp_path)
    assert found == config
    chex.assert_trees_all_equal(params, params_of(config, seed), strict=True)
    assert {type(x) for x in jax.tree.leaves(params)} == {np.ndarray}
    assert about.items() >= ABOUT.items()
    assert about["parameters"] == count_params(params)
    assert about["sha256"] == hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


def test_saving_what_was_loaded_gives_the_same_files(intact, tmp_path):
    save_pretrained(tmp_path, *load_pretrained(intact))
    for name in ("config.json", "model.safetensors"):
        assert (tmp_path / name).read_bytes() == (intact / name).read_bytes()


def test_the_files_can_be_read_without_fimjax(intact):
    entries = json.loads((intact / "config.json").read_text())
    about = entries.pop("about")
    assert entries == json.loads(json.dumps(to_dict(QUANTILE_REPORT_RUN)))
    with safetensors.safe_open(intact / "model.safetensors", "np") as file:
        assert file.metadata() == {"format": "fimjax"}
        arrays = {name: file.get_tensor(name) for name in file.keys()}
    assert sum(x.size for x in arrays.values()) == about["parameters"]
    assert {x.dtype for x in arrays.values()} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(arrays["rescale/kernel"], params_of(QUANTILE_REPORT_RUN)["rescale"]["kernel"])
    assert any(name.startswith("local/") for name in arrays)


def test_arrays_of_any_layout_and_precision_are_stored_correctly(tmp_path):
    expected = jax.tree.map(lambda x: x.astype(ml_dtypes.bfloat16).astype(np.float32), params_of(QUANTILE_REPORT_RUN))
    for name, change in {
        "columns": np.asfortranarray,
        "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        "bfloat16": lambda x: x.astype(ml_dtypes.bfloat16),
        "device": jax.device_put,
    }.items():
        save_pretrained(tmp_path / name, QUANTILE_REPORT_RUN, jax.tree.map(change, expected), {})
        chex.assert_trees_all_equal(load_pretrained(tmp_path / name)[1], expected, strict=True)


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    with pytest.raises(PretrainedError, match="model: a ReportFIMLocalConfig does not forecast"):
        save_pretrained(tmp_path, REPORT_LOCAL_RUN, params_of(REPORT_LOCAL_RUN), {})
    with pytest.raises(PretrainedError, match="is F32 .5,., not F32 .1,."):
        save_pretrained(tmp_path, REPORT_RUN, params_of(QUANTILE_REPORT_RUN), {})
    for about in ({"loss": float("nan")}, {"when": object()}):
        with pytest.raises((TypeError, ValueError), match="JSON"):
            save_pretrained(tmp_path, QUANTILE_REPORT_RUN, params_of(QUANTILE_REPORT_RUN), about)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("replaced", [0, 1])
@pytest.mark.parametrize("before", [False, True], ids=["new", "over_another"])
def test_an_interrupted_save_is_never_loaded(tmp_path, monkeypatch, before, replaced):
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
        chex.assert_trees_all_equal(load_pretrained(tmp_path)[1], params_of(QUANTILE_REPORT_RUN, 1))
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
    chex.assert_trees_all_equal(load_pretrained(copy)[1], params_of(QUANTILE_REPORT_RUN, 1))


@pytest.mark.parametrize(
    "damage", [lambda x: x[:-1], lambda x: x[:-1] + bytes([x[-1] ^ 1]), lambda x: b"", lambda x: x + x]
)
def test_damaged_weights_are_found_by_their_checksum(copy, damage):
    path = copy / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    assert f"{path}: its SHA-256 sum" in refusal(copy)


@pytest.mark.parametrize("damage", [lambda x: x[:-1], lambda x: x[:50], lambda x: b"", lambda x: b"\xff" * 99])
def test_weights_that_are_not_safetensors(copy, damage):
    path = copy / "model.safetensors"
    rewrite_weights(copy, damage(path.read_bytes()))
    assert f"{path}: not a safetensors file" in refusal(copy)


def test_arrays_that_do_not_fit_the_model(copy):
    path, name = copy / "model.safetensors", "rescale/kernel"
    before = path.read_bytes()
    for change, complaint in (
        (lambda arrays: arrays.pop(name), "is missing"),
        (lambda arrays: arrays.update({f"{name}s": arrays[name]}), "is not a parameter of the model in config.json"),
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
        (lambda c: c["model"].update(colour="red"), "ReportFIMConfig: unknown keys colour"),
        (lambda c: c.update(colour="red"), "Config: unknown keys colour"),
        (lambda c: c.pop("model"), "Config: missing keys model"),
        (lambda c: c.pop("kind"), "kind: None is not one of"),
        (lambda c: c.pop("about"), "has no block 'about'"),
        (lambda c: c["about"].pop("sha256"), "about.sha256"),
        (lambda c: c["windows"].update(count=1), "windows.count: at least 2"),
        (lambda c: c.update(schema=99), "schema: 99 was written by a newer fimjax"),
        (lambda c: c["model"].update(heads=3), "heads: 3 does not divide"),
        (lambda c: c["model"].update(heads="two"), "cannot be read by this version of fimjax"),
        (lambda c: c["model"].update(layers=1.5), "ReportFIMConfig.layers: 1.5 is not a whole number"),
        (lambda c: c.update(model=to_dict(REPORT_LOCAL_RUN.model)), "model: a ReportFIMLocalConfig does not forecast"),
        (lambda c: c.update(model=c["prior"]), "model: a PriorConfig does not forecast"),
        (lambda c: c.update(model=None), "Config.model: None is not a block of settings"),
        (
            lambda c: [c.pop(k) for k in ("training", "prior", "windows", "schema")] + [c.update(c.pop("model"))],
            "kind: ReportFIMConfig is not the config",
        ),
    ],
)
def test_configs_that_are_refused(copy, change, complaint):
    rewrite_config(copy, change)
    message = refusal(copy)
    assert complaint in message and "config.json" in message and str(copy) in message


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b"\xff\xfe\x00"])
def test_a_config_that_is_not_a_json_object(copy, text):
    (copy / "config.json").write_bytes(text)
    assert refusal(copy).startswith(f"{copy / 'config.json'}: ")


def test_a_missing_source_is_named(tmp_path):
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
def test_bundled_models(intact, tmp_path, monkeypatch, packed):
    place = folder = tmp_path / "weights"
    shutil.copytree(intact, folder / DEFAULT)
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
    chex.assert_trees_all_equal(load_pretrained()[1], params_of(QUANTILE_REPORT_RUN))
    assert load_pretrained("other")[0] == FIM_RUN
    assert "one of fim-small, other" in refusal("unfinished")
    # A folder of the same name in the working directory does not take the place of a bundled model.
    shutil.copytree(intact, "other")
    assert load_pretrained("other")[0] == FIM_RUN
    assert load_pretrained("./other")[0] == QUANTILE_REPORT_RUN


def test_shipped_models_can_be_loaded():
    assert DEFAULT in bundled() or not bundled()
    for name, about in bundled().items():
        config, params, same = load_pretrained(name)
        assert about == same and count_params(params) == about["parameters"]


def test_a_training_run(tmp_path):
    for config in (REPORT_RUN, REPORT_LOCAL_RUN):
        run = tmp_path / type(config.model).__name__
        state = replicate(init_state(config, params_of(config)), ONE)
        with contextlib.closing(RunCheckpoints(run, config)) as checkpoints:
            checkpoints.save(1, *split_for_checkpoint(to_global(state, ONE)), {"loss": 1.0})
        write_config(run, config)
    fim, local = tmp_path / "ReportFIMConfig", tmp_path / "ReportFIMLocalConfig"
    for folder in (fim, fim / "checkpoints"):
        config, params, about = load_pretrained(folder)
        assert config == REPORT_RUN and about == {}
        chex.assert_trees_all_equal(params, params_of(REPORT_RUN), strict=True)
    assert "ReportFIMLocalConfig: model: a ReportFIMLocalConfig does not forecast" in refusal(local)
    shutil.rmtree(fim / "checkpoints" / "1" / "params")
    assert f"{fim}: the run cannot be read" in refusal(fim)
    (tmp_path / "fresh" / "checkpoints").mkdir(parents=True)
    assert "the run cannot be read" in refusal(tmp_path / "fresh")


@pytest.mark.processes
def test_loading_weights_does_not_import_orbax(intact):
    code = (
        "import sys; from fimjax.checkpoints.pretrained import load_pretrained; load_pretrained(sys.argv[1]); "
        "print([m for m in ('orbax', 'optax', 'pandas', 'matplotlib', 'fimjax.training') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(intact)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
