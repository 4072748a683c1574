"""One trainer for all: N-BEATS, MQCNN, PatchTST and Chronos-Bolt train, stop, go on and forecast as FIM does."""

import dataclasses
import json

import chex
import pytest

from fimjax.forecasting.forecaster import Forecaster
from fimjax.training.checkpoint import load_params
from fimjax.training.loop import train
from fimjax.training.picture import draw_run
from tests.forecasting.small import frame
from tests.models.test_grid_forecasters import PLAIN
from tests.training.examples import run_config


def config_of(name, **training):
    return run_config(dataclasses.replace(PLAIN[name], horizon=12), **training)


@pytest.mark.parametrize("name", PLAIN)
def test_a_run_stops_goes_on_draws_and_forecasts(name, tmp_path):
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    config = config_of(name)
    train(config, whole)
    train(dataclasses.replace(config, training=dataclasses.replace(config.training, steps=3)), halved)
    train(config, halved, resume=True)
    chex.assert_trees_all_equal(load_params(halved)[1], load_params(whole)[1])

    lines = [json.loads(line) for line in (whole / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["phase"] == "validation"][-1]
    assert last["step"] == 6 and last["mae"] > 0 and last["last_value_mae"] > 0
    assert "picture.png" in draw_run(whole) and (whole / "picture.png").stat().st_size > 10_000
    found = Forecaster.from_pretrained(whole).forecast(frame(), h=3, freq=1)
    assert found.notna().all(axis=None)
