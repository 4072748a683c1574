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
)
from fimjax.models.chronos_bolt import ChronosBolt
from fimjax.models.deeponet import DeepONet
from fimjax.models.fim import FIM
from fimjax.models.fim_local import FIMLocal
from fimjax.models.mqcnn import MQCNN
from fimjax.models.nbeats import NBEATS
from fimjax.models.patchtst import PatchTST
from fimjax.nn.compute import PLAIN, Compute
from fimjax.nn.windows import Windows

_CLASSES = {
    FIMLocalConfig: FIMLocal,
    FIMConfig: FIM,
    DeepONetConfig: DeepONet,
    NBEATSConfig: NBEATS,
    MQCNNConfig: MQCNN,
    PatchTSTConfig: PatchTST,
    ChronosBoltConfig: ChronosBolt,
}


def build_model(config: ModelConfig, compute: Compute = PLAIN) -> nn.Module:
    """The module that a config describes, computed as `compute` says; parameters are float32."""
    return _CLASSES[type(config)](config, compute)


def forecasts(config: ModelConfig) -> bool:
    """Whether a model tells what comes after its windows, as FIM does, and not what lies within."""
    return isinstance(config, FIMConfig | GridConfig)


def model_name(config: ModelConfig) -> str:
    """What a model is called in tables and columns: FIM, NBEATS, ..."""
    return type(config).__name__.removesuffix("Config")


def init_params(model: nn.Module, key: jax.Array) -> dict[str, Any]:
    """Fresh parameters; their shapes do not depend on the number of series, slots or query times."""
    scalar = jnp.ones((1,))
    if forecasts(model.config):
        shape = (1, model.config.windows - 1 if isinstance(model, FIM) else 1, 2)
        windows = Windows(jnp.zeros(shape), jnp.zeros(shape), jnp.ones(shape, bool), *[scalar] * 4)
        return model.init(key, windows, jnp.ones((1, 1)))["params"]
    window = (jnp.zeros((1, 2)), jnp.zeros((1, 2)), jnp.ones((1, 2), bool))
    return model.init(key, *window, jnp.zeros((1, 1)))["params"]


def count_params(params: Any) -> int:
    """Numbers in a tree of parameters."""
    return sum(x.size for x in jax.tree.leaves(params))
