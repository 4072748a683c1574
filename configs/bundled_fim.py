"""The second run of the FIM whose weights ship as fim-small, begun from a long one of small_fim: what ships is the mean
of both. More series have errors as large as their level is restless."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config


def get_config() -> Config:
    small = small_config()
    prior = dataclasses.replace(small.prior, unrest=0.9)
    return dataclasses.replace(small, prior=prior, training=dataclasses.replace(small.training, seed=12))
