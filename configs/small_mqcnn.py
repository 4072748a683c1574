"""MQCNN at the size of small_fim, to race it: same prior, same optimiser, same knowledge of the season."""

import dataclasses

from configs.small_fim import LEVELS
from configs.small_fim import get_config as get_fim
from fimjax.config import Config, MQCNNConfig


def get_config() -> Config:
    fim = get_fim()
    model = MQCNNConfig(
        quantile_levels=LEVELS,
        season_harmonics=8,
        subtract_last_value=True,
        context=128,
        horizon=64,
        dilations=(1, 2, 4, 8, 16, 32, 64),
        channels=96,
        future_width=64,
        agnostic_width=128,
        specific_width=40,
    )
    training = dataclasses.replace(
        fim.training, steps=32_000, log_every=200, validate_every=1_000, point_capacity=1.0, query_capacity=1.0
    )
    return Config(model=model, prior=fim.prior, training=training)
