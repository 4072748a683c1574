"""Where the parameters of a run come from: chance, a pretrained FIM-l, or an earlier training."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp

from fimjax.checkpoints.pretrained import load_pretrained
from fimjax.checkpoints.runs import load_params
from fimjax.config import Config, FIMConfig, FIMLocalConfig, ModelConfig, differing_keys
from fimjax.errors import ConfigError, PretrainedError
from fimjax.models import build_model, init_params
from fimjax.training.losses import Params
from fimjax.training.step import PARAMS_STREAM, stream_key

LATER = ("anchor_base", "unit_by_share")
"""Switches of FIM that an earlier model may have had off: they add nothing but features, or no parameters at all."""


def initial_params(config: Config, local_run: Path | None = None, begin_from: str | Path | None = None) -> Params:
    """Fresh parameters, with FIM-l's from its own run where one is given; or those of an earlier training."""
    if begin_from is not None:
        if local_run is not None:
            raise ConfigError("begin_from: weights to begin from have a FIM-l of their own; leave out --local")
        return earlier_params(config, begin_from)
    model = build_model(config.model)
    params = jax.jit(lambda key: init_params(model, key))(stream_key(config.training.seed, PARAMS_STREAM))
    if not isinstance(config.model, FIMConfig):
        if local_run is not None:
            raise ConfigError(f"local: a pretrained FIM-l is for FIM, not for {type(config.model).__name__}")
        return params
    if local_run is None:
        if config.model.freeze_local:
            raise ConfigError(
                "model.freeze_local: FIM needs a pretrained FIM-l to freeze; give its run with --local, "
                "or train everything with --model.no-freeze-local"
            )
        return params
    local_config, local_params = load_params(local_run)
    if not isinstance(local_config.model, FIMLocalConfig):
        raise ConfigError(f"local: {local_run} is a run of {type(local_config.model).__name__}, not of FIM-l")
    differences = differing_keys(local_config.model, config.model.local, "model.local.")
    if differences:
        raise ConfigError(f"local: the FIM-l in {local_run} is another one: {'; '.join(differences)}")
    return {**params, "local": local_params}


def earlier_params(config: Config, source: str | Path) -> Params:
    """The parameters that an earlier training of the same model came to; of several members, the one that the seed,
    counted from 0 and round, falls on."""
    try:
        earlier, params, _ = load_pretrained(source)
    except PretrainedError as error:
        raise ConfigError(f"begin_from: {error}") from error
    if earlier.members > 1:
        params = jax.tree.map(lambda x: x[config.training.seed % earlier.members], params)
    try:
        return fitted(params, earlier.model, config.model)
    except ConfigError as error:
        raise ConfigError(f"begin_from: the model in {source} is another one: {error}") from error


def fitted(params: Params, earlier: ModelConfig, wanted: ModelConfig) -> Params:
    """Parameters of an earlier model as those of the same one with more features, which count for nothing at first."""
    differences = differing_keys(_grown(earlier, wanted), wanted, "model.")
    if differences:
        raise ConfigError("; ".join(differences))
    model = build_model(wanted)
    shapes = jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))
    return jax.tree.map(_with_new_rows, params, shapes)


def _grown(earlier: ModelConfig, wanted: ModelConfig) -> ModelConfig:
    """The earlier model with what may be switched on later: parameters stay what they are, but for new features."""
    if not (isinstance(earlier, FIMConfig) and isinstance(wanted, FIMConfig) and earlier.knows_floor):
        return earlier
    later = {name: getattr(earlier, name) or getattr(wanted, name) for name in LATER}
    return dataclasses.replace(earlier, **later)


def _with_new_rows(earlier: jax.Array, wanted: jax.ShapeDtypeStruct) -> jax.Array:
    """A matrix with rows for features that it did not know, which come last and count for nothing at first."""
    missing = [(0, new - old) for old, new in zip(earlier.shape, wanted.shape)]
    return jnp.pad(jnp.asarray(earlier), missing)
