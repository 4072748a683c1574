"""The N-BEATS whose weights ship as nbeats-small: small_nbeats with the prior that existed when it was trained.

That prior had no jumps, no business cycles, no daily or weekly patterns, no noise in proportion to the level's
movement, and no reported floor. Histories had five points or more.
"""

import dataclasses

from configs.small_nbeats import get_config as small_config
from fimjax.config import Config


def get_config() -> Config:
    small = small_config()
    prior = dataclasses.replace(
        small.prior,
        jumps=0.0,
        cycles=0.0,
        daily_pattern=0.0,
        weekly_pattern=0.0,
        level_noise=0.0,
        hidden_floor=1.0,
    )
    return dataclasses.replace(small, windows=dataclasses.replace(small.windows, min_history=5), prior=prior)
