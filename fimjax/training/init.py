"""Initial parameters of a run: random, with a pretrained FIM-l, or those of an earlier training."""

from pathlib import Path

import jax

from fimjax.checkpoints.pretrained import load_pretrained
from fimjax.checkpoints.runs import load_run
from fimjax.config import Config, FIMConfig, FIMLocalConfig, ReportFIMConfig, ReportFIMLocalConfig, differing_keys
from fimjax.errors import ConfigError, PretrainedError
from fimjax.models import Params, build_model, init_params
from fimjax.training.step import PARAMS_STREAM, stream_key


def initial_params(config: Config, local_run: Path | None = None, begin_from: str | Path | None = None) -> Params:
    """Parameters to start a run from.

    Args:
        local_run: the run of a pretrained FIM-l, for FIM.
        begin_from: a run or weights of the same model, whose parameters are taken over.
    """
    if begin_from is not None:
        if local_run is not None:
            raise ConfigError("begin_from: these weights have a FIM-l of their own; leave out --local")
        return _earlier_params(config, begin_from)
    model = build_model(config.model, config.windows.count)
    params = jax.jit(lambda key: init_params(model, key))(stream_key(config.training.seed, PARAMS_STREAM))
    if not isinstance(config.model, FIMConfig | ReportFIMConfig):
        if local_run is not None:
            raise ConfigError(f"local: a pretrained FIM-l is for FIM, not for {type(config.model).__name__}")
        return params
    if local_run is None:
        if isinstance(config.model, ReportFIMConfig):
            raise ConfigError("local: the lab report's FIM needs a pretrained FIM-l; give its run with --local")
        return params
    local_config, local_params = load_run(local_run)
    if not isinstance(local_config.model, FIMLocalConfig | ReportFIMLocalConfig):
        raise ConfigError(f"local: {local_run} is a run of {type(local_config.model).__name__}, not of FIM-l")
    differences = differing_keys(local_config.model, config.model.local, "model.local.")
    if differences:
        raise ConfigError(f"local: the FIM-l in {local_run} has other settings: {'; '.join(differences)}")
    return {**params, "local": local_params}


def _earlier_params(config: Config, source: str | Path) -> Params:
    """The parameters of an earlier training of the same model."""
    try:
        earlier, params, _ = load_pretrained(source)
    except PretrainedError as error:
        raise ConfigError(f"begin_from: {error}") from error
    differences = differing_keys(earlier.model, config.model, "model.")
    if differences:
        raise ConfigError(f"begin_from: the model in {source} has other settings: {'; '.join(differences)}")
    return params
