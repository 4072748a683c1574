import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from fimjax.cli import evaluate as command
from fimjax.cli.evaluate import dataset_names, main, read_trained_on
from fimjax.evaluation.baselines.statistical import fit_and_forecast
from tests.evaluation.examples import make_dataset, write_dataset
from tests.evaluation.test_runner import fit

ROOT = Path(__file__).parents[2]
MINE = "mine=tests.evaluation.examples:Repeater"


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data folder with two small data sets, and fits without a pool."""
    folder = tmp_path / "data" / "bench"
    write_dataset(folder, make_dataset("m3_yearly", series=6))
    write_dataset(folder, make_dataset("m1_quarterly", series=3))
    monkeypatch.setenv("FIMJAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FIMJAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FIMJAX_ARCHIVE", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setattr(command, "statistical_forecasts", lambda model, dataset, *_, **__: fit(model, dataset))
    return tmp_path


def test_evaluation_end_to_end(data, capsys):
    out = data / "results"
    assert main(["--models", f"{MINE},seasonal_naive", "--datasets", "m3_yearly,m1_quarterly", "--out", str(out)]) == 0
    metrics = pd.read_csv(out / "metrics.csv")
    assert list(metrics["dataset"]) == ["m3_yearly"] * 2 + ["m1_quarterly"] * 2
    assert {"scrps", "mase", "mase_pooled", "smape", "owa", "coverage_80", "width_95", "series_per_second"} <= set(
        metrics
    )
    for name in ("table1_scrps.csv", "table4_mase.csv", "summary.csv", "comparison.csv", "metrics.json", "report.html"):
        assert (out / name).stat().st_size > 0
    captured = capsys.readouterr()
    assert "m3_yearly: series is 6 here, 645 in the paper's table 3" in captured.err
    assert "seasonal_naive" in captured.out
    assert "MASE / SeasonalNaive" in captured.out and "MASE / SeasonalNaive" in (out / "report.html").read_text()


def test_a_sample_is_evaluated(data):
    out = data / "results"
    arguments = ["--models", "naive", "--datasets", "m3_yearly", "--sample", "4", "--out", str(out), "--no-report"]
    assert main(arguments) == 0
    (row,) = pd.read_csv(out / "metrics.csv").to_dict("records")
    assert (row["series"], row["population"], row["seed"]) == (4, 6, 0)
    assert row["scrps_lo"] <= row["scrps"] <= row["scrps_hi"]


def test_training_data_can_be_declared(data):
    out = data / "results"
    arguments = [
        "--models",
        MINE,
        "--datasets",
        "m3_yearly",
        "--trained-on",
        "mine:m3",
        "--out",
        str(out),
        "--no-report",
    ]
    assert main(arguments) == 0
    assert pd.read_csv(out / "metrics.csv")["trained_on"].all()
    assert "†" in (out / "table1_scrps.csv").read_text()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--models", "wizard"], "model 'wizard' is unknown"),
        (["--models", "naive", "--datasets", "m5"], "data set 'm5' is unknown; the data sets are m1_monthly"),
        (["--models", "naive", "--datasets", "tourism_yearly"], "data set tourism_yearly: .* cannot be downloaded"),
        (["--models", "bad=tests.evaluation.examples:Broken", "--datasets", "m3_yearly"], "series S2 is not finite"),
        (["--models", "naive", "--sample", "0"], "sample: 0 is not a number of series"),
        (["--models", "naive", "--processes", "0"], "processes: 0 is not a number of processes"),
        (["--models", "naive", "--seed", "-1"], "seed: -1 is negative"),
        (["--models", "naive", "--cache", __file__], "test_evaluate.py"),
        (["--models", "naive", "--data", "nowhere"], "data folder nowhere does not exist"),
        (["--models", ","], "models: the list is empty"),
        (["--models", "naive", "--trained-on", "naive:m9"], "trained-on: 'naive:m9' is not MODEL:DATASET"),
        (["--models", "naive", "--trained-on", "other:m4"], "trained-on: there is no model 'other'"),
    ],
)
def test_errors_are_one_sentence(data, capsys, arguments, message):
    assert main([*arguments, "--out", str(data / "results"), "--no-report"]) == 2
    *_, last = capsys.readouterr().err.strip().splitlines()
    assert re.search(message, last) and last.startswith("fimjax evaluate: ")
    assert not list((data / "results").rglob("*.parquet"))


def test_an_output_path_that_is_a_file_is_rejected_at_once(data, capsys, monkeypatch):
    monkeypatch.setattr(command, "run_benchmark", lambda *_: pytest.fail("it was started"))
    for out in (data / "file", data / "file" / "below"):
        (data / "file").write_text("mine")
        assert main(["--models", "naive", "--datasets", "m3_yearly", "--out", str(out)]) == 2
        assert "file" in capsys.readouterr().err and (data / "file").read_text() == "mine"


def test_a_failed_evaluation_keeps_the_results_of_an_earlier_one(data):
    out = data / "results"
    arguments = ["--datasets", "m3_yearly,m1_quarterly", "--out", str(out), "--no-report", "--models"]
    assert main([*arguments, "naive,seasonal_naive"]) == 0
    before = {path: path.read_bytes() for path in out.glob("*.*")}
    assert main([*arguments, "naive,bad=tests.evaluation.examples:Broken"]) == 2
    assert {path: path.read_bytes() for path in out.glob("*.*")} == before
    assert (out / "agreement_fev.csv").exists()
    assert main([*arguments, "naive"]) == 0
    assert not (out / "agreement_fev.csv").exists(), "its model is not in this evaluation"


def test_bundled_scores_need_no_fits(data, monkeypatch):
    def refuse(*_, **__):
        pytest.fail("a model was fitted")

    monkeypatch.setattr(command, "statistical_forecasts", refuse)
    arguments = ["--datasets", "m3_yearly", "--bundled-scores", "--out", str(data / "results"), "--no-report"]
    assert main(["--models", f"{MINE},sicoum", *arguments]) == 2, "the bundled scores were computed on other series"


def test_an_interrupt_is_reported(data, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "statistical_forecasts", interrupt)
    assert main(["--models", "naive", "--datasets", "m3_yearly", "--out", str(data / "results")]) == 130
    assert "the same command continues from here" in capsys.readouterr().err


def test_names_of_data_sets_and_competitions():
    assert dataset_names("m1") == ["m1_monthly", "m1_quarterly", "m1_yearly"]
    assert dataset_names("m3_other, m3") == ["m3_other", "m3_monthly", "m3_quarterly", "m3_yearly"]
    assert len(dataset_names("all")) == 16
    assert read_trained_on(("a:m4", "a:m1_yearly")) == {"a": ("m4", "m1_yearly")}


@pytest.mark.processes
def test_the_script_fits_in_processes_and_caches_the_fits(data):
    arguments = ["--models", "dynamic_optimized_theta", "--datasets", "m3_yearly", "--out", str(data / "results")]
    script = [sys.executable, str(ROOT / "evaluate.py"), *arguments, "--processes", "2", "--no-report"]
    done = subprocess.run(script, cwd=data, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stored = pd.read_parquet(data / "results" / "forecasts" / "m3_yearly" / "dynamic_optimized_theta.parquet")
    dataset = make_dataset("m3_yearly", series=6)
    point = fit_and_forecast("dynamic_optimized_theta", dataset.histories[0], 1, 6)[0]
    assert stored["point"][:6].to_numpy() == pytest.approx(point, rel=1e-5)
    assert list((data / "cache" / "fits").rglob("part-*.parquet"))
