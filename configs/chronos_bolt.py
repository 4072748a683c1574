"""Chronos-Bolt at the paper's size (8.7M parameters), with its learning rate and number of steps (table 8)."""

import dataclasses

from configs.small_fim import DECILES
from configs.small_fim import get_config as small_config
from fimjax.config import ChronosBoltConfig, Config, TrainingConfig, WindowConfig


def get_config() -> Config:
    return Config(
        model=ChronosBoltConfig(
            quantile_levels=DECILES,
            season_harmonics=0,
            subtract_last_value=False,
            context=2048,
            horizon=64,
            patch_size=16,
            width=256,
            heads=4,
            head_width=64,
            encoder_layers=4,
            decoder_layers=4,
            feedforward=1024,
        ),
        # 32 seen windows of 64 steps fill the context.
        windows=WindowConfig(count=33, slots=64, min_steps=4, max_steps=64, min_history=3),
        prior=dataclasses.replace(small_config().prior, matched_windows=0.0, missing=0.4),
        training=TrainingConfig(
            seed=0,
            steps=50_000,
            batch_size=128,  # the paper's 96 make three groups, which two devices cannot share
            optimizer="adamw",
            schedule="cosine",  # instead of the paper's steps to a tenth after each fifth of the run
            learning_rate=5e-4,
            min_learning_rate=5e-8,  # where the paper's schedule ends
            warmup_steps=100,
            weight_decay=0.01,
            precision="bfloat16",
            steps_per_dispatch=10,
            log_every=100,
            validate_every=1_000,
            validation_series=1_024,
        ),
    )
