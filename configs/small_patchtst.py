"""PatchTST at the size of small_fim, to race it: same prior, same optimiser, same knowledge of the season."""

import dataclasses

from configs.small_fim import LEVELS
from configs.small_fim import get_config as get_fim
from fimjax.config import Config, PatchTSTConfig


def get_config() -> Config:
    fim = get_fim()
    model = PatchTSTConfig(
        quantile_levels=LEVELS,
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
        fim.training, steps=52_000, log_every=500, validate_every=2_000, point_capacity=1.0, query_capacity=1.0
    )
    return Config(model=model, prior=fim.prior, training=training)
