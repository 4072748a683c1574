"""A FIM for CPUs (0.5M parameters on top of small_fim_local's 0.4M), trained on from FIM-l's weights."""

import dataclasses

from configs.small_fim_local import get_config as local_config
from fimjax.config import Config, FIMConfig


def get_config() -> Config:
    local = local_config()
    model = FIMConfig(
        local=local.model, windows=local.prior.windows, heads=4, layers=4, learned_scale=True, freeze_local=False
    )
    return dataclasses.replace(local, model=model, prior=dataclasses.replace(local.prior, missing=0.4))
