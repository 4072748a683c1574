"""The last 4,500 steps of the weights that ship, on the run of small_fim_early (`--resume`)."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config


def get_config() -> Config:
    small = small_config()
    # Where the cosine stands after 25,000 steps, this is a rate of 3e-4.
    training = dataclasses.replace(small.training, steps=29_500, learning_rate=5e-3)
    return dataclasses.replace(small, training=training)
