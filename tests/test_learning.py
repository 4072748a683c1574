"""The tiny recipes learn: a short run beats simple baselines."""

import dataclasses

import jax
import pytest

from configs.tiny_fim import get_config as tiny_fim
from configs.tiny_fim_local import get_config as tiny_fim_local
from fimjax.config import PriorWeights
from fimjax.training.loop import train

ONE = jax.devices()[:1]


def short(config, steps, **training):
    """Fewer steps, shorter windows, more noise, and two families that compile fast."""
    training = dataclasses.replace(
        config.training, steps=steps, warmup_steps=20, validate_every=steps, validation_series=64, **training
    )
    windows = dataclasses.replace(config.windows, slots=16, min_steps=12, max_steps=16)
    prior = dataclasses.replace(config.prior, weights=PriorWeights(smooth=1.0, ets=1.0), max_noise=1.0)
    return dataclasses.replace(config, training=training, windows=windows, prior=prior)


@pytest.mark.long
@pytest.mark.slow
def test_a_short_run_beats_the_baselines(tmp_path):
    """`make train` prints the same figures for full runs."""
    local = train(short(tiny_fim_local(), 160, learning_rate=3e-3), tmp_path / "local", devices=ONE)
    assert local.metrics["mse"] ** 0.5 < 0.92 * local.metrics["linear_mse"] ** 0.5
    fim = train(short(tiny_fim(), 120), tmp_path / "fim", local_run=tmp_path / "local", devices=ONE)
    assert fim.metrics["mse"] ** 0.5 < 0.85 * fim.metrics["last_window_mse"] ** 0.5
    assert fim.metrics["mse"] < fim.metrics["last_value_mse"]
