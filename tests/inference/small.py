"""A small forecaster with random weights and quantiles, and frames for it."""

import numpy as np
import pandas as pd

from fimjax.config import Config, PriorConfig, TrainingConfig
from fimjax.forecaster import Forecaster
from tests.examples import QUERYING_FORECASTER, with_params


def forecaster(model=QUERYING_FORECASTER) -> Forecaster:
    prior = PriorConfig(windows=model.windows, slots=16, min_window_steps=4, max_window_steps=16)
    return Forecaster(Config(model=model, prior=prior, training=TrainingConfig()), with_params(model)[1]["params"])


def frame(lengths=(30, 9, 1), seed=0, scale=1.0, shift=0.0) -> pd.DataFrame:
    """Random walks s0, s1, ... at 0, 1, 2, ..."""
    rng = np.random.default_rng(seed)
    return pd.concat(
        [
            pd.DataFrame({"unique_id": f"s{i}", "ds": np.arange(n), "y": shift + scale * rng.normal(size=n).cumsum()})
            for i, n in enumerate(lengths)
        ],
        ignore_index=True,
    )
