"""FIM in the paper's form at the size of small_fim, on top of a frozen FIM-l; needs the run of frozen_fim_local."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config, FIMConfig
from research.recipes.frozen_fim_local import get_config as local_config


def get_config() -> Config:
    local = local_config()
    model = FIMConfig(local=local.model, windows=local.prior.windows, heads=4, layers=4)
    return dataclasses.replace(local, model=model, prior=small_config().prior)
