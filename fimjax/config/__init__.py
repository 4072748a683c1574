"""Every setting that a run depends on, as frozen dataclasses. Defaults are neutral: what is not named is off."""

from fimjax.config.grid_models import (
    ChronosBoltConfig,
    GridConfig,
    GridModelConfig,
    MQCNNConfig,
    NBEATSConfig,
    PatchTSTConfig,
)
from fimjax.config.models import (
    DeepONetConfig,
    FIMConfig,
    FIMLocalConfig,
    ReportFIMConfig,
    ReportFIMLocalConfig,
)
from fimjax.config.prior import MAX_SEASON, PriorConfig, PriorWeights
from fimjax.config.run import Config, ModelConfig
from fimjax.config.serialization import SCHEMA, differing_keys, from_dict, to_dict
from fimjax.config.training import TrainingConfig
from fimjax.config.windows import WindowConfig

__all__ = [
    "MAX_SEASON",
    "SCHEMA",
    "ChronosBoltConfig",
    "Config",
    "DeepONetConfig",
    "FIMConfig",
    "FIMLocalConfig",
    "GridConfig",
    "GridModelConfig",
    "MQCNNConfig",
    "ModelConfig",
    "NBEATSConfig",
    "PatchTSTConfig",
    "PriorConfig",
    "PriorWeights",
    "ReportFIMConfig",
    "ReportFIMLocalConfig",
    "TrainingConfig",
    "WindowConfig",
    "differing_keys",
    "from_dict",
    "to_dict",
]
