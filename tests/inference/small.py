"""A small forecaster with random weights and quantiles, and frames for it."""

import numpy as np
import pandas as pd

from fimjax.config import Config, ModelConfig, WindowConfig
from fimjax.forecaster import Forecaster
from tests.examples import FIM, WINDOW_COUNT, with_params

WINDOWS = WindowConfig(count=WINDOW_COUNT, slots=16, min_steps=4, max_steps=16, min_history=3)


def forecaster(model: ModelConfig = FIM) -> Forecaster:
    """A forecaster with random weights."""
    return Forecaster(Config(model=model, windows=WINDOWS), with_params(model)[1]["params"])


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
