"""MQCNN at the paper's size (61 thousand parameters), with its batch, learning rate and number of steps (table 6)."""

import dataclasses

from configs.small_fim import DECILES
from configs.small_fim import get_config as small_config
from fimjax.config import Config, MQCNNConfig, TrainingConfig, WindowConfig


def get_config() -> Config:
    return Config(
        model=MQCNNConfig(
            quantile_levels=DECILES,
            season_harmonics=0,
            subtract_last_value=False,
            context=64,
            horizon=24,
            kernel_size=2,
            dilations=(1, 2, 4, 8, 16, 32),
            channels=30,
            future_width=50,
            agnostic_width=100,
            specific_width=20,
        ),
        # Three seen windows of 24 steps fill the context.
        windows=WindowConfig(count=4, slots=24, min_steps=4, max_steps=24, min_history=3),
        prior=dataclasses.replace(small_config().prior, matched_windows=0.0, missing=0.4),
        training=TrainingConfig(
            seed=0,
            steps=400_000,
            batch_size=256,
            optimizer="adamw",
            schedule="cosine",  # instead of one step to a tenth at half of the run: same rates at both ends
            learning_rate=1e-3,
            min_learning_rate=1e-4,
            warmup_steps=100,
            weight_decay=0.01,
            precision="bfloat16",
            steps_per_dispatch=10,
            log_every=100,
            validate_every=2_000,
            validation_series=1_024,
        ),
    )
