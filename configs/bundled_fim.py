"""What fim-small was made with: small_fim, before growth was counted by the season and the growing family took part."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config, PriorWeights

SEASONS = (1,) * 4 + (2, 3) + (4,) * 3 + (5, 6, 7, 7) + (12,) * 5 + (13,) + (24,) * 3 + (48, 52, 52, 96, 168)


def get_config() -> Config:
    small = small_config()
    weights = PriorWeights(smooth=4.0, ets=9.0, sarima=4.0, growing=0.0)
    prior = dataclasses.replace(small.prior, weights=weights, seasons=SEASONS, long_step_growth=0.3, max_rise=8.0)
    return dataclasses.replace(small, prior=prior)
