"""PatchTST at the paper's size (0.84M parameters), with its batch, learning rate and number of steps (table 7)."""

from fimjax.config import Config, PatchTSTConfig, PriorConfig, TrainingConfig


def get_config() -> Config:
    return Config(
        model=PatchTSTConfig(),
        prior=PriorConfig(windows=7, slots=24, max_window_steps=24),  # six seen windows of 24 steps fill the context
        training=TrainingConfig(
            steps=100_000,
            batch_size=256,
            schedule="cosine",  # in the place of the paper's steps, to a tenth after each fifth of the run
            learning_rate=1e-3,
            min_learning_rate=1e-7,  # where the paper's ends
            precision="bfloat16",
            steps_per_dispatch=10,
            log_every=100,
            validate_every=2_000,
        ),
    )
