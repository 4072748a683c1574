"""The shipped weights: intact, small, with facts about their training, and useful."""

from importlib.resources import files

import chex
import numpy as np
import pandas as pd

from fimjax import Forecaster
from fimjax.checkpoints.pretrained import DEFAULT, bundled, load_pretrained
from fimjax.cli.train import load_config
from fimjax.examples import air_passengers
from tests.training.examples import ROOT


def passengers() -> pd.DataFrame:
    df = pd.read_csv(air_passengers(), parse_dates=["month"]).assign(unique_id="passengers")
    return df.rename(columns={"month": "ds", "passengers": "y"})


def test_they_are_intact():
    """Loading a bundled model does not check its shapes, so they are checked here."""
    for name in bundled():
        folder = files("fimjax.weights").joinpath(name)
        chex.assert_trees_all_equal(load_pretrained(str(folder))[1], load_pretrained(name)[1])
    assert DEFAULT in bundled()


def test_they_are_small_and_come_with_their_lineage():
    total = 0
    for name, about in bundled().items():
        folder = files("fimjax.weights").joinpath(name)
        total += sum(len(file.read_bytes()) for file in folder.iterdir())
        assert {"hardware", "steps", "seconds", "parameters", "purpose"} <= set(about)
        lineage = about["lineage"]
        assert [stage["stage"] for stage in lineage] == list(range(1, len(lineage) + 1))
        assert all(parent < stage["stage"] for stage in lineage for parent in stage["parents"])
        assert about["steps"] == sum(stage["steps"] for stage in lineage)
        assert all({"seed", "checkpoint_step", "validation_loss"} <= set(stage) for stage in lineage)
    assert total < 20e6


def test_forecasts_of_an_unseen_series_beat_the_seasonal_naive():
    df = passengers()
    backtest = Forecaster.from_pretrained().cross_validation(df, h=12, n_windows=3, level=[80])
    error = (backtest["FIM"] - backtest["y"]).abs().mean()
    seasonal_naive = df["y"].shift(12).reindex(range(len(df) - 36, len(df))).to_numpy()
    assert error < 0.8 * np.abs(seasonal_naive - backtest["y"].to_numpy()).mean()
    inside = backtest["y"].between(backtest["FIM-lo-80"], backtest["FIM-hi-80"]).mean()
    assert 0.4 < inside  # 36 dependent points


def test_scattered_gaps_are_filled_about_as_well_as_by_a_line():
    """On this series; on most series they are better (research/log.md)."""
    df, errors = passengers(), {"FIM": 0.0, "line": 0.0}
    model = Forecaster.from_pretrained()
    for seed in range(6):
        gaps = np.random.default_rng(seed).random(len(df)) < 0.3
        gaps[[0, -1]] = False
        truth = df["y"][gaps].to_numpy()
        errors["FIM"] += np.abs(model.interpolate(df[~gaps])["FIM"].to_numpy()[gaps] - truth).mean()
        line = np.interp(np.flatnonzero(gaps), np.flatnonzero(~gaps), df["y"][~gaps])
        errors["line"] += np.abs(line - truth).mean()
    assert errors["FIM"] < 1.05 * errors["line"]


def test_their_configs_are_recipes_of_the_repository():
    recipes = {"fim-small": "bundled_fim", "nbeats-small": "bundled_nbeats"}
    assert set(recipes) == set(bundled())
    for name, recipe in recipes.items():
        assert load_pretrained(name)[0] == load_config(ROOT / "configs" / f"{recipe}.py")


def test_two_models_together_average_their_forecasts_and_fim_alone_interpolates():
    df = passengers()
    both = Forecaster.from_pretrained("fim-small+nbeats-small")
    found = both.forecast(df, h=12, level=[80])
    alone = [Forecaster.from_pretrained(name).forecast(df, h=12) for name in ("fim-small", "nbeats-small")]
    np.testing.assert_allclose(found["FIM+NBEATS"], (alone[0]["FIM"] + alone[1]["NBEATS"]) / 2, rtol=1e-4)
    assert both.interpolate(df.drop(index=[40, 41, 70]))["FIM+NBEATS"].notna().all()
