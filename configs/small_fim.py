"""The shipped FIM, trained on CPUs together with its FIM-l; bundled_fim is the last run that made the weights."""

from fimjax.config import Config, FIMConfig, FIMLocalConfig, PriorConfig, PriorWeights, TrainingConfig, WindowConfig

DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

SEASONS = (1,) * 7 + (2, 3) + (4,) * 4 + (5, 6, 7, 7) + (12,) * 6 + (13,) + (24,) * 3 + (48, 52, 52, 96, 168)

# Fills a group of 32 without rounding, and leans towards what business and economic series look like.
WEIGHTS = PriorWeights(
    rbf=1.0,
    periodic=1.0,
    locally_periodic=1.0,
    linear_periodic=1.0,
    chebyshev=1.0,
    dataset_g=1.0,
    smooth=4.0,
    ets=8.0,
    sarima=2.0,
    local_linear_trend=2.0,
    random_walk=4.0,
    growing=4.0,
    regimes=1.0,
    counts=1.0,
)


def get_config() -> Config:
    return Config(
        model=FIMConfig(
            local=FIMLocalConfig(
                width=48,
                heads=4,
                layers=1,
                feedforward=2,
                query_layers=1,
                time_harmonics=24,
                season_harmonics=8,
                quantile_levels=DECILES,
            ),
            heads=4,
            layers=4,
            feedforward=2,
            query_layers=2,
            anchor_heads=4,
            interpolation_weight=0.5,
        ),
        windows=WindowConfig(count=9, slots=24, min_steps=4, max_steps=64, min_history=3),
        prior=PriorConfig(
            weights=WEIGHTS,
            group_size=32,
            seasons=SEASONS,
            short_history=0.6,
            matched_windows=0.6,
            daily_pattern=0.7,
            weekly_pattern=0.6,
            growth=0.9,
            max_rise=20.0,
            cycles=0.8,
            jumps=0.25,
            exponential=0.6,
            noise=0.7,
            process_noise=0.15,
            level_noise=0.6,
            max_noise=0.5,
            outliers=0.05,
            irregular=0.2,
            missing=0.5,
            max_missing=0.75,
            hidden_season=0.15,
            wrong_season=0.03,
            hidden_floor=0.4,
        ),
        training=TrainingConfig(
            seed=0,
            steps=24_000,
            batch_size=64,
            optimizer="muon",
            schedule="cosine",
            learning_rate=2e-3,
            min_learning_rate=1e-5,
            warmup_steps=300,
            weight_decay=0.01,
            spread_power=0.5,
            average_decay=0.999,
            point_capacity=0.37,  # 26 % of the slots hold a point and 9 % a query, give or take 4 and 2 in 32 series
            query_capacity=0.17,
            steps_per_dispatch=10,
            log_every=50,
            validate_every=2_000,
            validation_series=1_024,
        ),
    )
