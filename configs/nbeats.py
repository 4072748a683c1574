"""N-BEATS at the paper's size (8.2M parameters), with its batch and rates; a cosine ends where its two decays do."""

from fimjax.config import Config, NBEATSConfig, PriorConfig, TrainingConfig


def get_config() -> Config:
    return Config(
        model=NBEATSConfig(),
        prior=PriorConfig(windows=9, slots=24, max_window_steps=24),  # eight seen windows of six steps fill the context
        training=TrainingConfig(
            steps=60_000,
            batch_size=256,
            schedule="cosine",
            learning_rate=1e-3,
            min_learning_rate=1e-5,
            warmup_steps=0,
            weight_decay=0.0,  # NeuralForecast's Adam has none
            precision="bfloat16",
            steps_per_dispatch=10,
            log_every=100,
            validate_every=1_000,
        ),
    )
