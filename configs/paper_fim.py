"""FIM at the paper's size (27.5M parameters on top of a frozen FIM-l of 22.5M); needs the run of paper_fim_local."""

import dataclasses

from configs.paper_fim_local import get_config as local_config
from fimjax.config import Config, FIMConfig


def get_config() -> Config:
    local = local_config()
    return dataclasses.replace(local, model=FIMConfig(local=local.model, windows=5, heads=8, layers=8))
