"""A FIM-l that trains in a minute on two cores: enough to see that everything works."""

from fimjax.config import Config, FIMLocalConfig, PriorConfig, PriorWeights, TrainingConfig

ROUGH = dict.fromkeys("sarima local_linear_trend random_walk regimes counts ets".split(), 0.0)


def get_config() -> Config:
    return Config(
        model=FIMLocalConfig(width=32, heads=2, layers=2, feedforward=2, trunk_layers=2, projection=(2, 2, 1)),
        # Smooth functions with noise: what a minute is enough for.
        prior=PriorConfig(
            weights=PriorWeights(**ROUGH),
            group_size=16,
            windows=5,
            slots=32,
            max_window_steps=32,
            min_window_steps=16,
            seasons=(1, 4, 12),
        ),
        training=TrainingConfig(
            steps=600,
            batch_size=64,
            schedule="cosine",
            learning_rate=3e-3,
            warmup_steps=50,
            log_every=20,
            validate_every=200,
            validation_series=512,
        ),
    )
