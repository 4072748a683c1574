"""The NBEATS whose weights ship as nbeats-small: small_nbeats with the prior of its day, in which no level jumped, no
cycles were, errors did not keep up with levels, and histories had five points or more."""

import dataclasses

from configs.small_nbeats import get_config as small_config
from fimjax.config import Config


def get_config() -> Config:
    small = small_config()
    prior = dataclasses.replace(small.prior, jumps=0.0, cycles=0.0, unrest=0.0, min_context=5)
    return dataclasses.replace(small, prior=prior)
