"""N-BEATS at the size of small_fim, to compare them: same windows, prior, optimiser and season features."""

import dataclasses

from configs.small_fim import DECILES
from configs.small_fim import get_config as small_config
from fimjax.config import Config, NBEATSConfig


def get_config() -> Config:
    small = small_config()
    model = NBEATSConfig(
        quantile_levels=DECILES,
        season_harmonics=8,
        subtract_last_value=True,
        context=144,
        horizon=64,
        stacks=4,
        blocks=1,
        layers=2,
        width=128,
    )
    training = dataclasses.replace(
        small.training,
        steps=45_000,
        optimizer="adamw",  # a step with Muon takes four times as long, because the matrices are large
        learning_rate=1.2e-3,
        log_every=500,
        validate_every=2_500,
        point_capacity=1.0,
        query_capacity=1.0,
    )
    return dataclasses.replace(small, model=model, training=training)
