"""FIM-l in the lab report's form at the size of small_fim: one summary vector, a trunk on raw time; for comparison."""

import dataclasses

from configs.small_fim import DECILES
from configs.small_fim import get_config as small_config
from fimjax.config import Config, ReportFIMLocalConfig


def get_config() -> Config:
    small = small_config()
    model = ReportFIMLocalConfig(width=48, heads=4, layers=2, feedforward=4, quantile_levels=DECILES)
    training = dataclasses.replace(
        small.training, steps=3_000, optimizer="adamw", learning_rate=1.2e-3, spread_power=0.0, point_capacity=0.5
    )
    # Quantiles are learned at unobserved points, so every series has some.
    return Config(model, small.windows, dataclasses.replace(small.prior, missing=1.0), training)
