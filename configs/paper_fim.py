"""FIM at the lab report's size (27.5M parameters on top of a frozen FIM-l of 22.5M); needs a run of paper_fim_local."""

import dataclasses

from configs.paper_fim_local import get_config as local_config
from fimjax.config import Config, ReportFIMConfig


def get_config() -> Config:
    local = local_config()
    model = ReportFIMConfig(
        local=local.model,
        heads=8,
        layers=8,
        feedforward=4,
        positional_encoding=False,
        similarity_weight=0.0,
        learned_scale=False,
    )
    return dataclasses.replace(local, model=model)
