"""PatchTST at the size of small_fim, to compare them: same windows, prior, optimiser and season features."""

import dataclasses

from configs.small_fim import DECILES
from configs.small_fim import get_config as small_config
from fimjax.config import Config, PatchTSTConfig


def get_config() -> Config:
    small = small_config()
    model = PatchTSTConfig(
        quantile_levels=DECILES,
        season_harmonics=8,
        subtract_last_value=True,
        context=144,
        horizon=64,
        patch_size=16,
        stride=16,
        width=80,
        heads=8,
        layers=4,
        feedforward=160,
    )
    training = dataclasses.replace(
        small.training,
        steps=52_000,
        log_every=500,
        validate_every=2_000,
        point_capacity=1.0,
        query_capacity=1.0,
    )
    return dataclasses.replace(small, model=model, training=training)
