"""FIM in the lab report's form at the size of small_fim, on top of a frozen FIM-l; needs a run of frozen_fim_local."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config, ReportFIMConfig
from research.recipes.frozen_fim_local import get_config as local_config


def get_config() -> Config:
    local = local_config()
    model = ReportFIMConfig(local=local.model, heads=4, layers=4, feedforward=4)
    return dataclasses.replace(local, model=model, prior=small_config().prior)
