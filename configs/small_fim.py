"""A FIM for CPUs on top of small_fim_local, whose weights ship as fim-small: query times attend to windows."""

import dataclasses

from configs.small_fim_local import get_config as local_config
from fimjax.config import Config, FIMConfig


def get_config() -> Config:
    local = local_config()
    model = FIMConfig(local=local.model, windows=local.prior.windows, heads=4, layers=4, feedforward=2, query_layers=2)
    training = dataclasses.replace(
        local.training, steps=16_000, batch_size=128, learning_rate=1.5e-3, validate_every=500
    )
    return dataclasses.replace(
        local, model=model, prior=dataclasses.replace(local.prior, missing=0.3), training=training
    )
