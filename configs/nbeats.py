"""N-BEATS at the paper's size (8.2M parameters), with its batch and rates; a cosine ends where its two decays do."""

import dataclasses

from configs.small_fim import DECILES
from configs.small_fim import get_config as small_config
from fimjax.config import Config, NBEATSConfig, TrainingConfig, WindowConfig


def get_config() -> Config:
    return Config(
        model=NBEATSConfig(
            quantile_levels=DECILES,
            season_harmonics=0,
            subtract_last_value=False,
            context=48,
            horizon=24,
            stacks=4,
            blocks=3,
            layers=2,
            width=512,
        ),
        # Eight seen windows of six steps fill the context.
        windows=WindowConfig(count=9, slots=24, min_steps=4, max_steps=24, min_history=3),
        prior=dataclasses.replace(small_config().prior, matched_windows=0.0, missing=0.4),
        training=TrainingConfig(
            seed=0,
            steps=60_000,
            batch_size=256,
            optimizer="adamw",
            schedule="cosine",
            learning_rate=1e-3,
            min_learning_rate=1e-5,
            warmup_steps=0,
            weight_decay=0.0,  # NeuralForecast's Adam has none
            precision="bfloat16",
            steps_per_dispatch=10,
            log_every=100,
            validate_every=1_000,
            validation_series=1_024,
        ),
    )
