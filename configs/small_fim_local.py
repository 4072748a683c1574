"""The FIM-l inside small_fim by itself: an interpolator with quantiles, or a start for small_fim (`--local`)."""

import dataclasses

from configs.small_fim import get_config as small_fim
from fimjax.config import Config


def get_config() -> Config:
    fim = small_fim()
    return Config(
        model=fim.model.local,
        # Quantiles are learned at unobserved points, so every window had better have some.
        prior=dataclasses.replace(fim.prior, missing=1.0),
        # Windows with two or three observations say little of their range.
        training=dataclasses.replace(fim.training, batch_size=64, target_clip=2.5),
    )
