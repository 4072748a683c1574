"""A FIM that trains in a minute on top of tiny_fim_local."""

import dataclasses

from configs.tiny_fim_local import get_config as local_config
from fimjax.config import Config, FIMConfig


def get_config() -> Config:
    local = local_config()
    model = FIMConfig(
        local=local.model, windows=local.prior.windows, heads=4, layers=2, feedforward=2, learned_scale=True
    )
    training = dataclasses.replace(local.training, learning_rate=3e-3, target_clip=10.0)
    return dataclasses.replace(local, model=model, training=training)
