"""A FIM-l for CPUs (0.4M parameters) with quantiles and the season's phases, on the whole prior."""

from fimjax.config import Config, FIMLocalConfig, PriorConfig, TrainingConfig

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def get_config() -> Config:
    return Config(
        model=FIMLocalConfig(
            width=48,
            heads=4,
            layers=2,
            feedforward=2,
            projection=(2, 2, 2, 1),
            quantile_levels=LEVELS,
            season_harmonics=3,
        ),
        # Quantiles are learned at unobserved points, so every window had better have some.
        prior=PriorConfig(windows=9, slots=24, max_window_steps=64, missing=1.0),
        training=TrainingConfig(
            steps=4_500,
            batch_size=64,
            schedule="cosine",
            learning_rate=2e-3,
            warmup_steps=200,
            average_decay=0.999,
            validate_every=250,
        ),
    )
