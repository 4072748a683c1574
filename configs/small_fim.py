"""The FIM whose weights ship as fim-small, but for its last run (bundled_fim): for CPUs, trained together with its
FIM-l, both with quantiles."""

from fimjax.config import Config, FIMConfig, FIMLocalConfig, PriorConfig, TrainingConfig

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def get_config() -> Config:
    local = FIMLocalConfig(
        width=48,
        heads=4,
        layers=1,
        feedforward=2,
        query_layers=1,
        quantile_levels=LEVELS,
        polynomials=True,
        time_waves=24,
        season_harmonics=8,
    )
    model = FIMConfig(
        local=local,
        windows=9,
        heads=4,
        layers=4,
        feedforward=2,
        query_layers=2,
        anchor_heads=4,
        smoothers=True,
        anchor_base=True,
        knows_floor=True,
        unit_by_share=True,
        placed_points=True,
        interpolation_weight=0.5,
        freeze_local=False,
    )
    return Config(
        model=model,
        prior=PriorConfig(windows=9, slots=24, max_window_steps=64, missing=0.5, matched_windows=0.6),
        training=TrainingConfig(
            steps=24_000,
            batch_size=64,
            optimizer="muon",
            schedule="cosine",
            learning_rate=2e-3,
            warmup_steps=300,
            spread_power=0.5,
            average_decay=0.999,
            point_capacity=0.37,  # 26 % of the slots hold a point, 9 % a question, give or take 4 and 2 in 32 series
            query_capacity=0.17,
            steps_per_dispatch=10,
            validate_every=2_000,
        ),
    )
