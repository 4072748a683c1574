"""The last steps of the FIM whose weights ship as fim-small: small_fim at a lower rate, begun from a long run of it."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config


def get_config() -> Config:
    small = small_config()
    last = dataclasses.replace(small.training, seed=7, steps=2_400, learning_rate=1e-3, validate_every=1_200)
    return dataclasses.replace(small, training=last)
