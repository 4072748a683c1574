"""A network on a grid is trained, validated and drawn by the same code as FIM."""

import dataclasses
import json

import jax
import pytest

from fimjax.training.loop import train
from fimjax.training.picture import draw_run
from tests.models.examples import GRID_MODELS
from tests.training.examples import run_config


@pytest.mark.long
def test_a_run_validates_and_draws(tmp_path):
    train(run_config(dataclasses.replace(GRID_MODELS["nbeats"], horizon=12)), tmp_path, devices=jax.devices()[:1])
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["phase"] == "validation"][-1]
    assert last["step"] == 6 and last["mae"] > 0 and last["last_value_mae"] > 0
    assert "picture.png" in draw_run(tmp_path) and (tmp_path / "picture.png").stat().st_size > 10_000
