"""Chronos-Bolt at the size of small_fim, to compare them: same windows, prior, optimiser and season features."""

import dataclasses

from configs.small_fim import DECILES
from configs.small_fim import get_config as small_config
from fimjax.config import ChronosBoltConfig, Config


def get_config() -> Config:
    small = small_config()
    model = ChronosBoltConfig(
        quantile_levels=DECILES,
        season_harmonics=8,
        subtract_last_value=False,
        context=144,
        horizon=64,
        patch_size=16,
        width=96,
        heads=4,
        head_width=24,
        encoder_layers=4,
        decoder_layers=2,
        feedforward=160,
    )
    training = dataclasses.replace(
        small.training,
        steps=49_000,
        log_every=200,
        validate_every=1_000,
        point_capacity=1.0,
        query_capacity=1.0,
    )
    return dataclasses.replace(small, model=model, training=training)
