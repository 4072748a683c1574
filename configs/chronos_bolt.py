"""Chronos-Bolt at the paper's size (8.7M parameters), with its learning rate and number of steps (table 8)."""

from fimjax.config import ChronosBoltConfig, Config, PriorConfig, TrainingConfig


def get_config() -> Config:
    return Config(
        model=ChronosBoltConfig(),
        prior=PriorConfig(windows=33, slots=64, max_window_steps=64),  # 32 seen windows of 64 steps fill the context
        training=TrainingConfig(
            steps=50_000,
            batch_size=128,  # the paper's 96 make three groups, which two devices could not share
            schedule="cosine",  # in the place of the paper's steps, to a tenth after each fifth of the run
            learning_rate=5e-4,
            min_learning_rate=5e-8,  # where the paper's ends
            precision="bfloat16",
            steps_per_dispatch=10,
            log_every=100,
            validate_every=1_000,
        ),
    )
