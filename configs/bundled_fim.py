"""The last run of the FIM whose weights ship as fim-small, begun from long ones of small_fim, at a lower rate: what
ships is the mean of both. All seasonal series have errors as large as their level is restless."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config


def get_config() -> Config:
    small = small_config()
    prior = dataclasses.replace(small.prior, unrest=1.0)
    training = dataclasses.replace(small.training, seed=23, steps=14_000, learning_rate=1e-3)
    return dataclasses.replace(small, prior=prior, training=training)
