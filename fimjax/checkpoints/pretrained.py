"""Pretrained models as two files, config.json and model.safetensors: those bundled with fimjax, and your own."""

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
from fimjax.config.migration import upgrade_parameter_name
from fimjax.errors import PretrainedError
from fimjax.files import replacing
from fimjax.models import Params, build_model, count_params, forecasts, param_shapes
from fimjax.weights import CONFIG, DEFAULT, bundled_folders

WEIGHTS = "model.safetensors"

ArrayInfo = tuple[str, tuple[int, ...]]
"""Dtype and shape of a stored array."""


def save_pretrained(folder: Path | str, config: Config, params: Params, about: dict[str, Any]) -> None:
    """Writes a trained forecaster as config.json and model.safetensors, replacing those that are there.

    Args:
        folder: created if it is missing.
        config: of the whole training run.
        params: the parameters for inference, stored as float32.
        about: JSON facts about the training: seed, steps, hardware, time. fimjax's version is added unless it is there;
            the number of parameters and the SHA-256 sum of model.safetensors are always added.
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
    # Last, because an older config.json does not fit the sum of the new weights, so the folder is refused until then.
    with replacing(folder / CONFIG) as scratch:
        scratch.write_text(text)


def load_pretrained(source: str | Path | None = None) -> tuple[Config, Params, dict[str, Any]]:
    """Loads a trained forecaster.

    Args:
        source: the name of a bundled model, a folder that `save_pretrained` wrote, or that of a training run, whose
            best checkpoint is taken; None for the default bundled model. A bundled name takes precedence over a folder:
            write "./name" for the folder.

    Returns:
        The config of its training, its parameters as NumPy arrays, and facts about its training (none for a run).

    Raises:
        PretrainedError: the model is missing or damaged, or does not forecast.
    """
    names = bundled_folders()
    if source is None and DEFAULT not in names:
        raise PretrainedError(
            f"this version of fimjax has no bundled weights {DEFAULT!r}: "
            "give the folder of a training run (runs/tiny/fim) or one with config.json and model.safetensors"
        )
    source = DEFAULT if source is None else source
    if isinstance(source, str) and source in names:
        # The tests check that bundled weights fit their config, and checking takes longer than all the rest.
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
    """Facts about the training of each bundled model, by name."""
    return {name: _read_config(folder)[1] for name, folder in bundled_folders().items()}


def _is_run(folder: Path) -> bool:
    """Whether this is the folder of a run, or its `checkpoints` folder with one folder for each step."""
    return (folder / "checkpoints").is_dir() or any(entry.name.isdigit() for entry in folder.iterdir())


def _read_run(folder: Path) -> tuple[Config, Params, dict[str, Any]]:
    from fimjax.checkpoints.runs import load_run  # Orbax takes longer to import than a model to load

    try:
        config, params = load_run(folder)
    except Exception as error:  # Orbax has its own exception for everything that can be missing or damaged
        raise PretrainedError(f"{folder}: the run cannot be read ({_first_line(error)})") from error
    _require_forecaster(folder, config)
    return config, params, {}


def _read(folder: Traversable, trusted: bool = False) -> tuple[Config, Params, dict[str, Any]]:
    """Reads a folder that `save_pretrained` wrote. Each file is read once, so that what is checked is what is used."""
    config, about = _read_config(folder)
    weights = _read_bytes(folder, WEIGHTS)
    path, found, expected = folder.joinpath(WEIGHTS), hashlib.sha256(weights).hexdigest(), about.get("sha256")
    if found != expected:
        raise PretrainedError(
            f"{path}: its SHA-256 sum {found} differs from about.sha256 of {CONFIG}, {expected}: "
            "the two files do not belong together, or one is damaged"
        )
    try:
        entries = {upgrade_parameter_name(name): entry for name, entry in safetensors.deserialize(weights)}
    except safetensors.SafetensorError as error:
        raise PretrainedError(f"{path}: not a safetensors file ({_first_line(error)})") from error
    if not trusted:
        arrays = {name: (x["dtype"], tuple(x["shape"])) for name, x in entries.items()}
        _check_arrays(path, arrays, _shapes(folder, config))
    params: Params = {}
    for name, entry in entries.items():
        *modules, leaf = name.split("/")
        tree = params
        for module in modules:
            tree = tree.setdefault(module, {})
        tree[leaf] = np.frombuffer(entry["data"], np.dtype("<f4")).reshape(entry["shape"])
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
        raise PretrainedError(f"{path}: cannot be read by this version of fimjax ({_first_line(error)})") from error
    if not isinstance(config, Config):
        raise PretrainedError(f"{path}: kind: {type(config).__name__} is not the config of a training run")
    _require_forecaster(path, config)
    return config, about


def _read_bytes(folder: Traversable, name: str) -> bytes:
    path = folder.joinpath(name)
    if not path.is_file():
        raise PretrainedError(f"{path}: is missing; the folder is incomplete")
    try:
        return path.read_bytes()
    except OSError as error:
        raise PretrainedError(f"{path}: cannot be read ({error.strerror})") from error


def _require_forecaster(path: Traversable, config: Config) -> None:
    if not forecasts(config.model):
        raise PretrainedError(f"{path}: model: a {type(config.model).__name__} does not forecast; give a FIM")


def _shapes(folder: Traversable, config: Config) -> Params:
    """The shapes of the parameters of a config's model."""
    path = folder.joinpath(CONFIG)
    _require_forecaster(path, config)
    try:
        return _trace_shapes(config.model, config.windows.count)
    except (ValueError, TypeError) as error:  # a size that is not a whole number is only found here
        raise PretrainedError(f"{path}: model: cannot be built ({_first_line(error)})") from error


@functools.cache
def _trace_shapes(model: ModelConfig, window_count: int) -> Params:
    return param_shapes(build_model(model, window_count))


def _check_arrays(path: Traversable, arrays: dict[str, ArrayInfo], shapes: Params) -> None:
    """Compares dtype and shape of each stored array with what the model needs."""
    expected: dict[str, ArrayInfo] = {name: ("F32", x.shape) for name, x in _by_name(shapes).items()}
    for name in sorted(expected | arrays):
        if name not in arrays:
            raise PretrainedError(f"{path}: {name}: is missing")
        if name not in expected:
            raise PretrainedError(f"{path}: {name}: is not a parameter of the model in {CONFIG}")
        if arrays[name] != expected[name]:
            (dtype, shape), wanted = arrays[name], expected[name]
            raise PretrainedError(f"{path}: {name}: is {dtype} {shape}, not {wanted[0]} {wanted[1]} as in {CONFIG}")


def _by_name(tree: Params) -> dict[str, Any]:
    """The leaves of a tree under names such as local/encoder/layer_0/kernel."""
    keystr = functools.partial(jax.tree_util.keystr, simple=True, separator="/")
    return {keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
