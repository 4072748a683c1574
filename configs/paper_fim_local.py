"""FIM-l at the paper's size (22.5M parameters), with its optimiser, schedule and precision, on the lab's own prior."""

from fimjax.config import Config, FIMLocalConfig, PriorConfig, PriorWeights, TrainingConfig

NONE = dict.fromkeys("dataset_g smooth ets sarima local_linear_trend random_walk growing regimes counts".split(), 0.0)
LAB_PRIOR = PriorConfig(
    weights=PriorWeights(rbf=0.2, chebyshev=0.2, periodic=0.18, locally_periodic=0.18, linear_periodic=0.24, **NONE),
    group_size=16,  # so that eight devices can share a batch of 128
    windows=5,
    slots=128,
    min_window_steps=32,
    max_window_steps=128,
    short_history=0.0,
    seasons=(1,),
    growth=0.0,
    exponential=0.0,
    irregular=0.5,
    missing=1.0,
    outliers=0.0,
)
PAPER_TRAINING = TrainingConfig(
    steps=200_000,
    batch_size=128,
    schedule="inverse_sqrt",
    learning_rate=1e-4,
    min_learning_rate=1e-5,
    warmup_steps=100,
    precision="bfloat16",
    point_capacity=0.4,  # 27 % of the slots hold a point, give or take 4 in 16 series
    steps_per_dispatch=10,
    log_every=100,
    validate_every=2_000,
)


def get_config() -> Config:
    return Config(model=FIMLocalConfig(width=256, heads=4, layers=6), prior=LAB_PRIOR, training=PAPER_TRAINING)
