"""The forecaster with N-BEATS, MQCNN, PatchTST or Chronos-Bolt inside: what it forecasts, and what it refuses."""

import dataclasses

import jax
import numpy as np
import pandas as pd
import pytest

from fimjax.config import Config, NBEATSConfig, WindowConfig
from fimjax.errors import ConfigError, InputError, PretrainedError
from fimjax.forecaster import Forecaster
from fimjax.inference.export import export_forecast
from tests.cli.examples import run as run_command
from tests.examples import LEVELS, with_params
from tests.inference import small
from tests.inference.small import frame
from tests.models.examples import SEASONAL_GRID_MODELS

NAMES = {"nbeats": "NBEATS", "mqcnn": "MQCNN", "patchtst": "PatchTST", "chronos_bolt": "ChronosBolt"}
WINDOWS = WindowConfig(count=4, slots=8, min_steps=4, max_steps=8, min_history=3)
EACH = pytest.mark.parametrize("name", NAMES)


def forecaster(name: str) -> Forecaster:
    model = SEASONAL_GRID_MODELS[name]
    return Forecaster(Config(model=model, windows=WINDOWS), with_params(model)[1]["params"])


@EACH
def test_frames_come_back_with_the_networks_name(name):
    model = forecaster(name)
    column = NAMES[name]
    # 20 steps are more than the network was made for: windows follow one another, as FIM's do.
    found = model.forecast(frame(), h=20, freq=1, level=[80])
    assert list(found.columns) == ["unique_id", "ds", column, f"{column}-lo-80", f"{column}-hi-80"]
    assert found.groupby("unique_id").size().to_dict() == {"s0": 20, "s1": 20, "s2": 20}
    assert np.isfinite(found[column]).all()
    assert (found[f"{column}-lo-80"] <= found[column]).all() and (found[column] <= found[f"{column}-hi-80"]).all()
    alone = model.forecast(frame()[:30], h=20, freq=1, level=[80])
    pd.testing.assert_frame_equal(alone, found[:20], rtol=1e-4, atol=1e-4)


@EACH
def test_units_do_not_matter(name):
    model = forecaster(name)
    plain = model.forecast(frame(), h=6, freq=1)[model.name]
    scaled = model.forecast(frame(scale=1e4, shift=5e4), h=6, freq=1)[model.name]
    # A single observation has no spread, so it has no scale that could grow with it.
    np.testing.assert_allclose(scaled[:12], 5e4 + 1e4 * plain[:12], rtol=1e-3, atol=20)


@EACH
def test_times_without_a_grid_and_before_the_first_observation(name):
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 30, 40))
    found = forecaster(name).query((t, np.sin(t)), np.array([-2.5, -0.25, 30.1, 33.75]), level=[80])
    assert found.notna().all(axis=None) and len(found) == 4


def test_what_it_cannot_do_is_said_in_a_sentence():
    model = forecaster("nbeats")
    patchy = frame((30,)).assign(y=lambda f: f["y"].where(f["ds"] != 11))
    with pytest.raises(InputError, match="NBEATS can only forecast: use a FIM for times up to the last"):
        model.interpolate(patchy, freq=1)
    with pytest.raises(InputError, match="can only forecast"):
        model.query((np.arange(9.0), np.arange(9.0)), np.array([3.5, 12.0]))


def test_backtests_and_anomalies_are_forecasts():
    model = forecaster("patchtst")
    backtest = model.cross_validation(frame((30,)), h=3, freq=1, n_windows=2)
    assert len(backtest) == 6 and backtest["PatchTST"].notna().all()
    odd = model.detect_anomalies(frame((30,)), level=99, freq=1)
    assert odd["PatchTST-anomaly"].dtype == bool


def test_there_and_back(tmp_path):
    model = forecaster("chronos_bolt")
    model.save_pretrained(tmp_path / "bolt")
    again = Forecaster.from_pretrained(tmp_path / "bolt")
    assert again.name == "ChronosBolt" and again.config == model.config and again.version == model.version
    pd.testing.assert_frame_equal(again.forecast(frame(), h=3, freq=1), model.forecast(frame(), h=3, freq=1))


def test_the_command_line_takes_it(tmp_path, capsys):
    forecaster("mqcnn").save_pretrained(tmp_path / "mqcnn")
    frame((20,)).to_csv(tmp_path / "walk.csv", index=False)
    asked = (tmp_path / "walk.csv", "--model", tmp_path / "mqcnn", "--freq", 1)
    code, _, err = run_command(capsys, "forecast", *asked, "--h", 4, "--output", tmp_path / "out.csv")
    assert code == 0, err
    assert pd.read_csv(tmp_path / "out.csv")["MQCNN"].notna().sum() == 4
    code, _, err = run_command(capsys, "interpolate", *asked, "--output", tmp_path / "filled.csv")
    assert code and "MQCNN can only forecast" in err[-1] and not (tmp_path / "filled.csv").exists()


@EACH
def test_it_exports_as_fim_does(name, tmp_path):
    pytest.importorskip("flatbuffers")
    model = forecaster(name)
    export_forecast(model.config, model.params, tmp_path / "network.bin", points=24, h=4)
    loaded = jax.export.deserialize((tmp_path / "network.bin").read_bytes())
    assert loaded.in_avals[0].shape[1] == 24 and loaded.out_avals[0].shape[1:] == (4, len(LEVELS))


def test_a_horizon_shorter_than_the_priors_windows_is_refused():
    model = NBEATSConfig(context=24, horizon=4)
    with pytest.raises(ConfigError, match="horizon"):
        Config(model=model, windows=WINDOWS)
    assert Config(model=dataclasses.replace(model, horizon=8), windows=WINDOWS)


def test_joined_models_are_averaged_and_the_fim_fills(tmp_path):
    fim, nbeats = small.forecaster(), forecaster("nbeats")
    fim.save_pretrained(tmp_path / "fim")
    nbeats.save_pretrained(tmp_path / "nbeats")
    both = Forecaster.from_pretrained(f"{tmp_path / 'nbeats'}+{tmp_path / 'fim'}")
    assert both.name == "NBEATS+FIM" and both.version not in (fim.version, nbeats.version)
    asked = dict(h=5, freq=1, quantiles=[0.1, 0.5])
    found, a, b = (model.forecast(frame(), **asked) for model in (both, nbeats, fim))
    for suffix in ("", "-q-10", "-q-50"):
        mean = (a[f"NBEATS{suffix}"] + b[f"FIM{suffix}"]) / 2
        np.testing.assert_allclose(found[f"NBEATS+FIM{suffix}"], mean, rtol=1e-5, atol=1e-5)
    patchy = frame((30,)).assign(y=lambda f: f["y"].where(f["ds"] != 11))
    filled, alone = both.interpolate(patchy, freq=1), fim.interpolate(patchy, freq=1)
    np.testing.assert_array_equal(filled["NBEATS+FIM"], alone["FIM"])
    backtest = both.cross_validation(frame((30,)), h=3, freq=1, n_windows=2)
    assert backtest["NBEATS+FIM"].notna().all()
    # Joined to a pair, a third counts as much as each of them; so does a pair that joins a third.
    for three in (both.joined_by(fim), fim.joined_by(both)):
        mean = (a["NBEATS"] + 2 * b["FIM"]) / 3
        np.testing.assert_allclose(three.forecast(frame(), h=5, freq=1)[three.name], mean, rtol=1e-5, atol=1e-5)


def test_joined_models_are_refused_where_there_must_be_one(tmp_path):
    nbeats = forecaster("nbeats")
    both = nbeats.joined_by(forecaster("mqcnn"))
    with pytest.raises(PretrainedError, match="NBEATS\\+MQCNN: averaged models cannot be saved together"):
        both.save_pretrained(tmp_path / "both")
    assert not (tmp_path / "both").exists()
    with pytest.raises(PretrainedError, match="averaged models cannot be applied together"):
        both.apply(both.params)
    other = dataclasses.replace(nbeats.config.model, quantile_levels=(0.1, 0.5, 0.9))
    odd = Forecaster(dataclasses.replace(nbeats.config, model=other), with_params(other)[1]["params"])
    with pytest.raises(PretrainedError, match="cannot be averaged: their quantile levels differ"):
        nbeats.joined_by(odd)
    with pytest.raises(InputError, match="NBEATS can only forecast"):
        both.interpolate(frame((30,)).assign(y=lambda f: f["y"].where(f["ds"] != 11)), freq=1)
    nbeats.save_pretrained(tmp_path / "a+b")  # a plus in the name of a folder is part of it
    assert Forecaster.from_pretrained(str(tmp_path / "a+b")).name == "NBEATS"
    with pytest.raises(PretrainedError, match="'no'"):
        Forecaster.from_pretrained("no+model")
