"""The last of the runs that made fim-small: small_fim at a lower learning rate, begun from earlier runs of small_fim.

The shipped parameters are the mean of this run's and those it began from. All seasonal quarterly and monthly series
have noise in proportion to the movement of their level.
"""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config


def get_config() -> Config:
    small = small_config()
    prior = dataclasses.replace(small.prior, level_noise=1.0)
    training = dataclasses.replace(small.training, seed=23, steps=14_000, learning_rate=1e-3)
    return dataclasses.replace(small, prior=prior, training=training)
