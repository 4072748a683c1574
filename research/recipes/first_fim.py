"""The first recipe, which small_fim grew from, as far as settings go (families have changed since); to compare with."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config, PriorWeights

WEIGHTS = PriorWeights(
    locally_periodic=2.0,
    linear_periodic=2.0,
    dataset_g=2.0,
    smooth=5.0,
    sarima=4.0,
    growing=0.0,
    ets=8.0,
    local_linear_trend=2.0,
    random_walk=2.0,
)
SEASONS = (1, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 12, 12, 12, 12, 13, 24, 24, 48, 52, 52, 96, 168)


def get_config() -> Config:
    small = small_config()
    local = dataclasses.replace(small.model.local, polynomials=False, time_waves=12, season_harmonics=3)
    additions = {"anchor_heads": 0, "smoothers": False, "knows_floor": False}
    additions |= {"anchor_base": False, "unit_by_share": False, "placed_points": False}
    model = dataclasses.replace(small.model, local=local, **additions)
    prior = dataclasses.replace(
        small.prior,
        weights=WEIGHTS,
        seasons=SEASONS,
        matched_windows=0.0,
        growth=0.0,
        jumps=0.0,
        cycles=0.0,
        process_noise=1.0,
        unrest=0.0,
    )
    training = dataclasses.replace(small.training, optimizer="adamw", learning_rate=1.2e-3, spread_power=0.0)
    return Config(model, prior, training)
