"""The FIM-l inside small_fim by itself: an interpolator with quantiles, or a start for small_fim (`--local`)."""

import dataclasses

from configs.small_fim import get_config as small_config
from fimjax.config import Config


def get_config() -> Config:
    small = small_config()
    return Config(
        model=small.model.local,
        windows=small.windows,
        # Quantiles are learned at unobserved points, so every series has some.
        prior=dataclasses.replace(small.prior, missing=1.0),
        # Windows with two or three observations define no range.
        training=dataclasses.replace(small.training, target_clip=2.5),
    )
