"""Results of the race are stored by seed, averaged over seeds and printed next to the paper's."""

import dataclasses
import json

import pandas as pd
import pytest

from benchmarks import race
from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.training.loop import train
from tests.models.examples import GRID_MODELS
from tests.training.examples import run_config


def metrics(models=("fim-0", "fim-1", "patchtst-0", "seasonal_naive")):
    """A table such as evaluate.py writes; sCRPS is 0.1 more for each model."""
    rows = []
    for name in ("m1_yearly", "m4_hourly"):
        for i, model in enumerate(models):
            scores = dict.fromkeys(race.SCORES, 0.1 * (i + 1))
            counts = {"series": CATALOG[name].series, "population": CATALOG[name].series, "trained_on": False}
            rows.append({"dataset": name, "model": model, **scores, **counts, "wall_seconds": 1.0})
    return pd.DataFrame(rows)


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(race, "METRICS", tmp_path / "race.csv")
    monkeypatch.setattr(race, "RUNS", tmp_path / "race_runs.csv")
    made = {"parameters": 1_000, "steps": 10, "series": 640, "series_per_second": 64}
    made |= {"minutes": 0.2, "minutes_as_run": 0.3, "validation_mae": 0.5}
    facts = lambda folder: dict(zip(("network", "seed"), race.split_name(folder.name))) | made
    monkeypatch.setattr(race, "read_run", facts)
    metrics().to_csv(tmp_path / "metrics.csv", index=False)
    race.collect(tmp_path, tmp_path / "metrics.csv")
    return tmp_path


def test_seeds_are_averaged_with_their_bounds(results):
    table = race.read_metrics().set_index(["dataset", "model"])
    fim, patchtst = table.loc[("m1_yearly", "FIM")], table.loc[("m1_yearly", "PatchTST")]
    assert (fim["scrps"], fim["scrps_lo"], fim["scrps_hi"]) == pytest.approx((0.15, 0.1, 0.2))
    assert patchtst["scrps"] == pytest.approx(0.3) and pd.isna(patchtst["scrps_lo"])


def test_tables_have_our_the_statistical_and_the_papers_models(results):
    text = race.tables()
    head = next(line for line in text.splitlines() if "paper: sicoum" in line)
    columns = [cell.strip() for cell in head.split("|")]
    assert (
        columns.index("FIM") < columns.index("PatchTST") < columns.index("auto_arima") < columns.index("paper: arima")
    )
    assert "0.150 [0.100, 0.200]" in text and "Table 4" in text
    assert text.count("| FIM ") >= 2  # a row for each seed


@pytest.mark.parametrize("name", ["fim", "fim-x", "lstm-0"])
def test_a_run_with_another_name_is_rejected(name):
    with pytest.raises(ValueError, match="run '.*': its name is not one of fim, nbeats"):
        race.split_name(name)


@pytest.mark.long
def test_facts_about_a_run_come_from_its_config_and_log(tmp_path):
    config = run_config(dataclasses.replace(GRID_MODELS["nbeats"], horizon=12))
    train(config, tmp_path / "nbeats-3")
    row = race.read_run(tmp_path / "nbeats-3")
    assert (row["network"], row["seed"], row["steps"], row["series"]) == ("nbeats", 3, 6, 6 * 16)
    assert row["parameters"] > 1_000 and row["validation_mae"] > 0
    log = tmp_path / "nbeats-3" / "metrics.jsonl"
    lines = [line for line in log.read_text().splitlines() if json.loads(line)["step"] < 6]
    log.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="not finished"):
        race.read_run(tmp_path / "nbeats-3")


def test_the_stored_results_are_complete():
    """Every network on every data set, all of its series."""
    table, runs = pd.read_csv(race.METRICS), pd.read_csv(race.RUNS)
    assert set(table["model"]) == {*race.NAMES, "seasonal_naive"} and set(table["dataset"]) == set(CATALOG)
    assert (table["series"] == table["population"]).all() and not table["trained_on"].any()
    counted = table[table["model"] != "seasonal_naive"].groupby(["model", "training_seed"]).size()
    assert (counted == len(CATALOG)).all() and len(counted) == len(runs)
    sizes, minutes = runs["parameters"], runs["minutes"]
    assert sizes.max() < 1.1 * sizes.min() and minutes.max() < 1.1 * minutes.min()
    assert (runs["minutes_as_run"] >= 20).all()
