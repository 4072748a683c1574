"""fimjax and its peers, each as a function from a frame to forecasts; each is imported only when it is loaded."""

import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.series import Group

Forecast = Callable[[pd.DataFrame, Group], Any]
"""Forecasts a long frame; returns a frame or an array."""

LEVEL = [80, 95]
QUANTILES = [0.025, 0.1, 0.5, 0.9, 0.975]
"""The median and the bounds of the intervals."""

CHRONOS_BATCH = 256
CHRONOS_PARAMETERS = 8_650_000
CHRONOS_BOLT_TINY = {
    "architectures": ["ChronosBoltModelForForecasting"],
    "d_model": 256,
    "d_kv": 64,
    "d_ff": 1024,
    "num_layers": 4,
    "num_decoder_layers": 4,
    "num_heads": 4,
    "vocab_size": 2,
    "feed_forward_proj": "relu",
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
    "is_encoder_decoder": True,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
    "chronos_config": {
        "context_length": 2048,
        "prediction_length": 64,
        "input_patch_size": 16,
        "input_patch_stride": 16,
        "quantiles": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        "use_reg_token": True,
    },
}
"""The configuration of amazon/chronos-bolt-tiny."""

LABELS = {"fimjax": "fimjax", "auto_ets": "StatsForecast AutoETS", "chronos_bolt": "Chronos-Bolt-tiny (random weights)"}
NEEDS = {"fimjax": ("fimjax",), "auto_ets": ("statsforecast",), "chronos_bolt": ("torch", "chronos")}


def is_installed(name: str) -> bool:
    """Whether the packages of a model are installed; they are not imported."""
    return all(importlib.util.find_spec(package) is not None for package in NEEDS[name])


def load(name: str, model: str | None = None, jobs: int = 1) -> Forecast:
    """Imports a model and makes it ready.

    Args:
        name: a key of LABELS.
        model: source of fimjax's weights for `Forecaster.from_pretrained`; None for the bundled weights.
        jobs: number of processes for AutoETS; -1 for one a core.
    """
    if name == "fimjax":
        return load_fimjax(model)
    return load_auto_ets(jobs) if name == "auto_ets" else load_chronos_bolt()


def load_fimjax(model: str | None) -> Forecast:
    from fimjax import Forecaster

    forecaster = Forecaster.from_pretrained(model)
    return lambda frame, group: forecaster.forecast(frame, group.horizon, group.freq, level=LEVEL)


def load_auto_ets(jobs: int) -> Forecast:
    from statsforecast import StatsForecast
    from statsforecast.models import AutoETS, SeasonalNaive

    def forecast(frame: pd.DataFrame, group: Group) -> pd.DataFrame:
        season = group.season
        fitter = StatsForecast(
            models=[AutoETS(season_length=season)],
            freq=group.freq,
            n_jobs=jobs,
            fallback_model=SeasonalNaive(season_length=season),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fitter.forecast(df=frame, h=group.horizon, level=LEVEL)

    return forecast


def load_chronos_bolt() -> Forecast:
    """Chronos-Bolt-tiny in eager float32 on every core, as its pipeline comes; it returns an array, not a frame."""
    import logging

    import torch
    from chronos.chronos_bolt import ChronosBoltModelForForecasting, ChronosBoltPipeline
    from transformers import T5Config

    logging.getLogger("chronos").setLevel(logging.ERROR)  # it warns about quantiles beyond those of its training
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = ChronosBoltModelForForecasting(T5Config(**CHRONOS_BOLT_TINY)).eval()
    parameters = sum(x.numel() for x in model.parameters())
    if abs(parameters / CHRONOS_PARAMETERS - 1) > 0.01:
        raise RuntimeError(f"Chronos-Bolt-tiny has about {CHRONOS_PARAMETERS:,} parameters, not {parameters:,}")
    pipeline = ChronosBoltPipeline(model)

    def forecast(frame: pd.DataFrame, group: Group) -> np.ndarray:  # [B, h, L]
        ids = frame["unique_id"].to_numpy()
        cuts = np.flatnonzero(ids[1:] != ids[:-1]) + 1
        series = [torch.from_numpy(y.copy()) for y in np.split(frame["y"].to_numpy(np.float32), cuts)]
        parts = []
        for first in range(0, len(series), CHRONOS_BATCH):
            batch = series[first : first + CHRONOS_BATCH]
            quantiles, _ = pipeline.predict_quantiles(batch, prediction_length=group.horizon, quantile_levels=QUANTILES)
            parts.append(quantiles.numpy())
        return np.concatenate(parts)

    return forecast
