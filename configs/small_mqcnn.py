"""MQCNN at the size of small_fim, to compare them: same windows, prior, optimiser and season features."""

import dataclasses

from configs.small_fim import DECILES
from configs.small_fim import get_config as small_config
from fimjax.config import Config, MQCNNConfig


def get_config() -> Config:
    small = small_config()
    model = MQCNNConfig(
        quantile_levels=DECILES,
        season_harmonics=8,
        subtract_last_value=True,
        context=128,
        horizon=64,
        kernel_size=2,
        dilations=(1, 2, 4, 8, 16, 32, 64),
        channels=96,
        future_width=64,
        agnostic_width=128,
        specific_width=40,
    )
    training = dataclasses.replace(
        small.training,
        steps=32_000,
        log_every=200,
        validate_every=1_000,
        point_capacity=1.0,
        query_capacity=1.0,
    )
    return dataclasses.replace(small, model=model, training=training)
