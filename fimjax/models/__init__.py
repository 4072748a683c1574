"""The models, and how a config becomes one."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.config import (
    ChronosBoltConfig,
    DeepONetConfig,
    FIMConfig,
    FIMLocalConfig,
    GridConfig,
    ModelConfig,
    MQCNNConfig,
    NBEATSConfig,
    PatchTSTConfig,
    ReportFIMConfig,
    ReportFIMLocalConfig,
)
from fimjax.models.chronos_bolt import ChronosBolt
from fimjax.models.deeponet import DeepONet
from fimjax.models.fim import FIM
from fimjax.models.fim_local import FIMLocal
from fimjax.models.fim_report import ReportFIM, ReportFIMLocal
from fimjax.models.mqcnn import MQCNN
from fimjax.models.nbeats import NBEATS
from fimjax.models.patchtst import PatchTST
from fimjax.nn.compute import PLAIN, Compute
from fimjax.nn.windows import Windows

Params = dict[str, Any]
"""A tree of parameters."""

_CLASSES: dict[type, type[nn.Module]] = {
    FIMLocalConfig: FIMLocal,
    FIMConfig: FIM,
    ReportFIMLocalConfig: ReportFIMLocal,
    DeepONetConfig: DeepONet,
    NBEATSConfig: NBEATS,
    MQCNNConfig: MQCNN,
    PatchTSTConfig: PatchTST,
    ChronosBoltConfig: ChronosBolt,
}


def build_model(config: ModelConfig, window_count: int, compute: Compute = PLAIN) -> nn.Module:
    """The module that a config describes.

    Args:
        window_count: K, windows in all, the unseen one included.
        compute: precision and memory options; parameters are float32 in any case.
    """
    if isinstance(config, ReportFIMConfig):
        return ReportFIM(config, compute, window_count)
    return _CLASSES[type(config)](config, compute)


def forecasts(config: ModelConfig) -> bool:
    """Whether a model forecasts what comes after its windows; the others interpolate within a window."""
    return isinstance(config, FIMConfig | ReportFIMConfig | GridConfig)


def interpolates(config: ModelConfig) -> bool:
    """Whether a model interpolates, by itself or by the FIM-l inside it."""
    return not isinstance(config, GridConfig)


def model_name(config: ModelConfig) -> str:
    """The name of a model in tables and columns: FIM, NBEATS, ..."""
    return type(config).__name__.removesuffix("Config").removeprefix("Report")


def init_params(model: nn.Module, key: jax.Array) -> Params:
    """Fresh parameters. Their shapes do not depend on the number of series, slots or query times."""
    config = model.config
    scalar = jnp.ones((1,))
    if forecasts(config):
        shape = (1, 1, 2)
        windows = Windows(jnp.zeros(shape), jnp.zeros(shape), jnp.ones(shape, bool), *[scalar] * 4)
        return model.init(key, windows, jnp.ones((1, 1)))["params"]
    window = (jnp.zeros((1, 2)), jnp.zeros((1, 2)), jnp.ones((1, 2), bool))
    return model.init(key, *window, jnp.zeros((1, 1)))["params"]


def param_shapes(model: nn.Module) -> Params:
    """Shapes and dtypes of a model's parameters, without computing them."""
    return jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))


def count_params(params: Params) -> int:
    """Number of parameters in a tree."""
    return sum(x.size for x in jax.tree.leaves(params))
