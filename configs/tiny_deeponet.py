"""The classical DeepONet as an interpolator, for comparison with tiny_fim_local."""

import dataclasses

from configs.tiny_fim_local import get_config as local_config
from fimjax.config import Config, DeepONetConfig


def get_config() -> Config:
    local = local_config()
    model = DeepONetConfig(sensors=local.windows.slots, width=96, features=64, layers=3)
    return dataclasses.replace(local, model=model)
