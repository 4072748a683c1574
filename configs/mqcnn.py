"""MQCNN at the paper's size (61 thousand parameters), with its batch, learning rate and number of steps (table 6)."""

from fimjax.config import Config, MQCNNConfig, PriorConfig, TrainingConfig


def get_config() -> Config:
    return Config(
        model=MQCNNConfig(),
        prior=PriorConfig(windows=4, slots=24, max_window_steps=24),  # three seen windows of 24 steps fill the context
        training=TrainingConfig(
            steps=400_000,
            batch_size=256,
            schedule="cosine",  # for a tenth from half of the steps on: from the same rate to the same rate
            learning_rate=1e-3,
            min_learning_rate=1e-4,
            precision="bfloat16",
            steps_per_dispatch=10,
            log_every=100,
            validate_every=2_000,
        ),
    )
