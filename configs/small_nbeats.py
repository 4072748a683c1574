"""NBEATS at the size of small_fim, to race it: same prior, same optimiser, same knowledge of the season."""

import dataclasses

from configs.small_fim import LEVELS
from configs.small_fim import get_config as get_fim
from fimjax.config import Config, NBEATSConfig


def get_config() -> Config:
    fim = get_fim()
    model = NBEATSConfig(
        quantile_levels=LEVELS,
        season_harmonics=8,
        subtract_last_value=True,
        context=144,
        horizon=64,
        blocks=1,
        width=128,
    )
    training = dataclasses.replace(
        fim.training,
        steps=45_000,
        optimizer="adamw",  # a step by Muon takes four times as long: the matrices are large for what they compute
        learning_rate=1.2e-3,
        log_every=500,
        validate_every=2_500,
        point_capacity=1.0,
        query_capacity=1.0,
    )
    return Config(model=model, prior=fim.prior, training=training)
