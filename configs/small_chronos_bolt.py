"""ChronosBolt at the size of small_fim, to race it: same prior, same optimiser, same knowledge of the season."""

import dataclasses

from configs.small_fim import LEVELS
from configs.small_fim import get_config as get_fim
from fimjax.config import ChronosBoltConfig, Config


def get_config() -> Config:
    fim = get_fim()
    model = ChronosBoltConfig(
        quantile_levels=LEVELS,
        season_harmonics=8,
        context=144,
        horizon=64,
        width=96,
        head_width=24,
        decoder_layers=2,
        feedforward=160,
    )
    training = dataclasses.replace(
        fim.training, steps=49_000, log_every=200, validate_every=1_000, point_capacity=1.0, query_capacity=1.0
    )
    return Config(model=model, prior=fim.prior, training=training)
