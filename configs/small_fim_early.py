"""The first 25,000 steps of the weights that ship, before the prior had the growing family; small_fim_late goes on."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config, PriorWeights

WEIGHTS = PriorWeights(smooth=4.0, ets=9.0, sarima=4.0, local_linear_trend=3.0, random_walk=4.0, growing=0.0)


def get_config() -> Config:
    small = small_config()
    return dataclasses.replace(small, prior=dataclasses.replace(small.prior, weights=WEIGHTS))
