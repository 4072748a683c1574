"""Trained models as two files, config.json and model.safetensors: those that ship with fimjax, and your own."""

import functools
import hashlib
import json
from importlib.metadata import version
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import safetensors
import safetensors.numpy

from fimjax.config import Config, ModelConfig, from_dict, to_dict
from fimjax.errors import PretrainedError
from fimjax.files import replacing
from fimjax.inference.predict import Params
from fimjax.models import build_model, count_params, forecasts, init_params
from fimjax.weights import CONFIG, DEFAULT, bundled_folders

WEIGHTS = "model.safetensors"


def save_pretrained(folder: Path | str, config: Config, params: Params, about: dict[str, Any]) -> None:
    """Writes a trained forecaster as config.json and model.safetensors, in place of those that are there.

    Args:
        folder: made if it is missing.
        config: of the whole training run.
        params: the parameters that forecast, stored as float32.
        about: anything that JSON can say of how the model came about: seed, steps, hardware, time. fimjax's version is
            added unless it is there; the number of parameters and the SHA-256 sum of model.safetensors are always.
    """
    folder = Path(folder)
    arrays = {name: np.asarray(x, np.float32, order="C") for name, x in _by_name(params).items()}
    _check_arrays(folder / WEIGHTS, {k: ("F32", x.shape) for k, x in arrays.items()}, _shapes(folder, config))
    weights = safetensors.numpy.save(arrays, metadata={"format": "fimjax"})
    facts = {"parameters": count_params(params), "sha256": hashlib.sha256(weights).hexdigest()}
    entries = to_dict(config) | {"about": {"fimjax": version("fimjax")} | about | facts}
    text = json.dumps(entries, indent=2, allow_nan=False) + "\n"

    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / WEIGHTS) as scratch:
        scratch.write_bytes(weights)
    # Last: a folder without it is not whole yet, and the sum in an older one does not fit the newer weights.
    with replacing(folder / CONFIG) as scratch:
        scratch.write_text(text)


def load_pretrained(source: str | Path | None = None) -> tuple[Config, Params, dict[str, Any]]:
    """A trained forecaster: a FIM, or a network on a regular grid.

    Args:
        source: the name of a bundled model, a folder that `save_pretrained` wrote, or that of a training run, whose
            best checkpoint is taken; None for the default bundled model. A name that is bundled is never a folder:
            write "./name" for that.

    Returns:
        The config of its training, its parameters as NumPy arrays, and what is known of how it came about: nothing,
        for a training run.

    Raises:
        PretrainedError: if it is not there, not whole, or does not forecast.
    """
    names = bundled_folders()
    if source is None and DEFAULT not in names:
        raise PretrainedError(
            f"this version of fimjax has no bundled weights {DEFAULT!r}: "
            "give the folder of a training run (runs/tiny/fim) or one with config.json and model.safetensors"
        )
    source = DEFAULT if source is None else source
    if isinstance(source, str) and source in names:
        # What ships is whole, as the tests see to; the shapes of a model's parameters take longer than all the rest.
        return _read(names[source], trusted=True)
    folder = Path(source)
    if not folder.is_dir():
        bundled_names = f"one of {', '.join(names)}" if names else "of which there are none"
        raise PretrainedError(f"{str(source)!r} is neither a folder nor a bundled model, {bundled_names}")
    if (folder / WEIGHTS).is_file():
        return _read(folder)
    if _is_run(folder):
        return _read_run(folder)
    raise PretrainedError(f"{folder}: holds neither {WEIGHTS} nor checkpoints of a training run")


def bundled() -> dict[str, dict[str, Any]]:
    """The models that ship with fimjax: what is known of how each came about, by name."""
    return {name: _read_config(folder)[1] for name, folder in bundled_folders().items()}


def _is_run(folder: Path) -> bool:
    """Whether this is the folder of a run, or its `checkpoints` folder with one folder for each step."""
    return (folder / "checkpoints").is_dir() or any(entry.name.isdigit() for entry in folder.iterdir())


def _read_run(folder: Path) -> tuple[Config, Params, dict[str, Any]]:
    from fimjax.checkpoints.runs import load_params  # Orbax takes longer to import than a model to load

    try:
        config, params = load_params(folder)
    except Exception as error:  # Orbax has a kind of its own for everything that can be missing or damaged
        raise PretrainedError(f"{folder}: the run cannot be read ({_first_line(error)})") from error
    _require_forecaster(folder, config)
    return config, params, {}


def _read(folder: Traversable, trusted: bool = False) -> tuple[Config, Params, dict[str, Any]]:
    """A folder that `save_pretrained` wrote, each file read once, so that what is checked is what is used."""
    config, about = _read_config(folder)
    weights = _read_bytes(folder, WEIGHTS)
    path, found, expected = folder.joinpath(WEIGHTS), hashlib.sha256(weights).hexdigest(), about.get("sha256")
    if found != expected:
        raise PretrainedError(
            f"{path}: its SHA-256 sum {found} is not about.sha256 of {CONFIG}, {expected}: "
            "the two files are not of one model, or one is damaged"
        )
    try:
        entries = dict(safetensors.deserialize(weights))
    except safetensors.SafetensorError as error:
        raise PretrainedError(f"{path}: not a safetensors file ({_first_line(error)})") from error
    if not trusted:
        arrays = {name: (x["dtype"], tuple(x["shape"])) for name, x in entries.items()}
        _check_arrays(path, arrays, _shapes(folder, config))
    params: Params = {}
    for name, entry in entries.items():
        *modules, leaf = name.split("/")
        place = params
        for module in modules:
            place = place.setdefault(module, {})
        place[leaf] = np.frombuffer(entry["data"], np.dtype("<f4")).reshape(entry["shape"])
    return config, params, about


def _read_config(folder: Traversable) -> tuple[Config, dict[str, Any]]:
    path = folder.joinpath(CONFIG)
    try:
        entries = json.loads(_read_bytes(folder, CONFIG))
    except ValueError as error:
        raise PretrainedError(f"{path}: not a JSON file ({error})") from error
    if not isinstance(entries, dict) or not isinstance(about := entries.pop("about", None), dict):
        raise PretrainedError(f"{path}: has no block 'about'; was it written by save_pretrained?")
    try:
        config = from_dict(entries)
    except (ValueError, TypeError, AttributeError) as error:  # a ConfigError, or a value of the wrong type
        raise PretrainedError(f"{path}: not a config of this version of fimjax ({_first_line(error)})") from error
    if not isinstance(config, Config):
        raise PretrainedError(f"{path}: kind: {type(config).__name__} is not the config of a training run")
    _require_forecaster(path, config)
    return config, about


def _read_bytes(folder: Traversable, name: str) -> bytes:
    path = folder.joinpath(name)
    if not path.is_file():
        raise PretrainedError(f"{path}: is missing; the folder is not whole")
    try:
        return path.read_bytes()
    except OSError as error:
        raise PretrainedError(f"{path}: cannot be read ({error.strerror})") from error


def _require_forecaster(path: Traversable, config: Config) -> None:
    if not forecasts(config.model):
        raise PretrainedError(f"{path}: model: a {type(config.model).__name__} does not forecast; give a FIM")


def _shapes(folder: Traversable, config: Config) -> Params:
    """What a model of this config has for parameters."""
    path = folder.joinpath(CONFIG)
    _require_forecaster(path, config)
    try:
        return _trace_shapes(config.model, config.members)
    except (ValueError, TypeError) as error:  # a size that is not a whole number gets this far
        raise PretrainedError(f"{path}: model: cannot be built ({_first_line(error)})") from error


@functools.cache
def _trace_shapes(model: ModelConfig, members: int) -> Params:
    shapes = jax.eval_shape(lambda: init_params(build_model(model), jax.random.key(0)))
    return shapes if members == 1 else jax.tree.map(lambda x: x.update(shape=(members, *x.shape)), shapes)


def _check_arrays(path: Traversable, arrays: dict[str, tuple[str, tuple[int, ...]]], shapes: Params) -> None:
    """Compares type and shape of each array with what the model needs."""
    expected = {name: ("F32", x.shape) for name, x in _by_name(shapes).items()}
    for name in sorted(expected | arrays):
        if name not in arrays:
            raise PretrainedError(f"{path}: {name}: is missing")
        if name not in expected:
            raise PretrainedError(f"{path}: {name}: is no parameter of the model in {CONFIG}")
        if arrays[name] != expected[name]:
            (dtype, shape), wanted = arrays[name], expected[name]
            raise PretrainedError(f"{path}: {name}: is {dtype} {shape}, not {wanted[0]} {wanted[1]} as in {CONFIG}")


def _by_name(tree: Params) -> dict[str, Any]:
    """The leaves of a tree under names such as local/encoder/layer_0/kernel."""
    return {_name(place): leaf for place, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _name(place: tuple) -> str:
    return jax.tree_util.keystr(place, simple=True, separator="/")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
