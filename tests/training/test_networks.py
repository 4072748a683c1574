"""One trainer for all: a network on a grid trains, draws and forecasts as FIM does (each of them: tests/models)."""

import dataclasses
import json

from fimjax.forecaster import Forecaster
from fimjax.training.loop import train
from fimjax.training.picture import draw_run
from tests.inference.small import frame
from tests.models.examples import GRID_MODELS
from tests.training.examples import run_config


def test_a_run_validates_draws_and_forecasts(tmp_path):
    train(run_config(dataclasses.replace(GRID_MODELS["nbeats"], horizon=12)), tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["phase"] == "validation"][-1]
    assert last["step"] == 6 and last["mae"] > 0 and last["last_value_mae"] > 0
    assert "picture.png" in draw_run(tmp_path) and (tmp_path / "picture.png").stat().st_size > 10_000
    found = Forecaster.from_pretrained(tmp_path).forecast(frame(), h=3, freq=1)
    assert found.notna().all(axis=None)
