"""A FIM-l that trains in a minute on two cores: enough to see that everything works."""

import dataclasses

from fimjax.config import Config, FIMLocalConfig, PriorConfig, PriorWeights, TrainingConfig

# Trends and smooth curves under noise: what a network of this size learns in a minute.
GENTLE = {"rbf": 2.0, "chebyshev": 2.0, "smooth": 4.0, "ets": 4.0, "local_linear_trend": 4.0}
NONE = dict.fromkeys(dataclasses.asdict(PriorWeights()), 0.0)


def get_config() -> Config:
    return Config(
        model=FIMLocalConfig(width=24, heads=2, layers=2, feedforward=2, trunk_layers=2, projection=(2, 2, 1)),
        prior=PriorConfig(
            weights=PriorWeights(**(NONE | GENTLE)),
            group_size=16,
            windows=5,
            slots=32,
            min_window_steps=24,
            max_window_steps=32,
            short_history=0.0,
            seasons=(1,),
            growth=0.0,
            cycles=0.0,
            exponential=0.3,
            max_missing=0.5,
            noise=1.0,
            process_noise=1.0,
        ),
        training=TrainingConfig(
            steps=500,
            batch_size=32,
            schedule="cosine",
            learning_rate=6e-3,
            warmup_steps=50,
            target_clip=3.0,
            log_every=10,
            validate_every=100,
            validation_series=256,
        ),
    )
