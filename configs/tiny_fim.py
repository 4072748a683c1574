"""The lab report's FIM on top of tiny_fim_local; trains in a minute."""

import dataclasses

from configs.tiny_fim_local import get_config as local_config
from fimjax.config import Config, ReportFIMConfig


def get_config() -> Config:
    local = local_config()
    model = ReportFIMConfig(
        local=local.model,
        heads=4,
        layers=2,
        feedforward=2,
        positional_encoding=False,
        similarity_weight=0.0,
        learned_scale=True,
    )
    training = dataclasses.replace(local.training, learning_rate=3e-3, target_clip=10.0)
    return dataclasses.replace(local, model=model, training=training)
