"""FIM-l at the lab report's size (22.5M parameters), with its optimiser, schedule and precision.

The prior is our reading of the report's: Gaussian processes and Chebyshev expansions with noise, gaps and irregular
times, and nothing else.
"""

from fimjax.config import (
    Config,
    PriorConfig,
    PriorWeights,
    ReportFIMLocalConfig,
    TrainingConfig,
    WindowConfig,
)


def get_config() -> Config:
    return Config(
        model=ReportFIMLocalConfig(
            width=256, heads=4, layers=6, feedforward=4, trunk_layers=4, projection=(4, 4, 4, 1), quantile_levels=()
        ),
        windows=WindowConfig(count=5, slots=128, min_steps=32, max_steps=128, min_history=3),
        prior=PriorConfig(
            weights=PriorWeights(rbf=0.2, chebyshev=0.2, periodic=0.18, locally_periodic=0.18, linear_periodic=0.24),
            group_size=16,  # so that eight devices can share a batch of 128
            seasons=(1,),
            noise=0.7,
            max_noise=0.5,
            irregular=0.5,
            missing=1.0,
            max_missing=0.75,
        ),
        training=TrainingConfig(
            seed=0,
            steps=200_000,
            batch_size=128,
            optimizer="adamw",
            schedule="inverse_sqrt",
            learning_rate=1e-4,
            min_learning_rate=1e-5,
            warmup_steps=100,
            weight_decay=0.01,
            precision="bfloat16",
            point_capacity=0.4,  # 27 % of the slots hold a point, give or take 4 in 16 series
            steps_per_dispatch=10,
            log_every=100,
            validate_every=2_000,
            validation_series=1_024,
        ),
    )
