"""The lab report's FIM-l, small enough to train in a minute on two cores: enough to see that everything works."""

from fimjax.config import Config, PriorConfig, PriorWeights, ReportFIMLocalConfig, TrainingConfig, WindowConfig


def get_config() -> Config:
    return Config(
        model=ReportFIMLocalConfig(
            width=24, heads=2, layers=2, feedforward=2, trunk_layers=2, projection=(2, 2, 1), quantile_levels=()
        ),
        windows=WindowConfig(count=5, slots=32, min_steps=24, max_steps=32, min_history=3),
        prior=PriorConfig(
            # Trends and smooth curves under noise: what a network of this size learns in a minute.
            weights=PriorWeights(rbf=2.0, chebyshev=2.0, smooth=4.0, ets=4.0, local_linear_trend=4.0),
            group_size=16,
            seasons=(1,),
            exponential=0.3,
            noise=1.0,
            process_noise=1.0,
            max_noise=0.5,
            outliers=0.05,
            irregular=0.2,
            missing=0.4,
            max_missing=0.5,
        ),
        training=TrainingConfig(
            seed=0,
            steps=500,
            batch_size=32,
            optimizer="adamw",
            schedule="cosine",
            learning_rate=6e-3,
            min_learning_rate=1e-5,
            warmup_steps=50,
            weight_decay=0.01,
            target_clip=3.0,
            log_every=10,
            validate_every=100,
            validation_series=256,
        ),
    )
