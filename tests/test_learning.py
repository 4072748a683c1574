"""The tiny pair learns: a short run beats what anybody would do without a model."""

import dataclasses

import jax
import pytest

from configs.tiny_fim import get_config as tiny_fim
from configs.tiny_fim_local import NONE
from configs.tiny_fim_local import get_config as tiny_fim_local
from fimjax.config import PriorWeights
from fimjax.training.loop import train

TWO = jax.devices()[:2]


def short(config, steps):
    """Fewer steps, and of the five families two that compile fast."""
    training = dataclasses.replace(config.training, steps=steps, validate_every=steps, validation_series=128)
    weights = PriorWeights(**(NONE | {"smooth": 1.0, "ets": 1.0}))
    prior = dataclasses.replace(config.prior, weights=weights)
    return dataclasses.replace(config, training=training, prior=prior)


@pytest.mark.slow
def test_a_short_run_beats_the_baselines(tmp_path):
    """`make train` prints the same figures for the full length of the run."""
    local = train(short(tiny_fim_local(), 220), tmp_path / "local", devices=TWO)
    assert local.metrics["mse"] ** 0.5 < 0.85 * local.metrics["linear_mse"] ** 0.5
    fim = train(short(tiny_fim(), 80), tmp_path / "fim", local_run=tmp_path / "local", devices=TWO)
    assert fim.metrics["mse"] ** 0.5 < 0.85 * fim.metrics["last_window_mse"] ** 0.5
    assert fim.metrics["mse"] < fim.metrics["last_value_mse"]
