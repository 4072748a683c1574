"""PatchTST at the paper's size (0.84M parameters), with its batch, learning rate and number of steps (table 7)."""

import dataclasses

from configs.small_fim import DECILES
from configs.small_fim import get_config as small_config
from fimjax.config import Config, PatchTSTConfig, TrainingConfig, WindowConfig


def get_config() -> Config:
    return Config(
        model=PatchTSTConfig(
            quantile_levels=DECILES,
            season_harmonics=0,
            subtract_last_value=False,
            context=128,
            horizon=24,
            patch_size=16,
            stride=8,
            width=128,
            heads=16,
            layers=3,
            feedforward=256,
        ),
        # Six seen windows of 24 steps fill the context.
        windows=WindowConfig(count=7, slots=24, min_steps=4, max_steps=24, min_history=3),
        prior=dataclasses.replace(small_config().prior, matched_windows=0.0, missing=0.4),
        training=TrainingConfig(
            seed=0,
            steps=100_000,
            batch_size=256,
            optimizer="adamw",
            schedule="cosine",  # instead of the paper's steps to a tenth after each fifth of the run
            learning_rate=1e-3,
            min_learning_rate=1e-7,  # where the paper's schedule ends
            warmup_steps=100,
            weight_decay=0.01,
            precision="bfloat16",
            steps_per_dispatch=10,
            log_every=100,
            validate_every=2_000,
            validation_series=1_024,
        ),
    )
