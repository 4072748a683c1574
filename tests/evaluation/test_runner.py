import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from fimjax.errors import EvaluationError
from fimjax.evaluation import metrics
from fimjax.evaluation.baselines.statistical import fit_and_forecast
from fimjax.evaluation.forecasts import interval_indices, read_forecasts, write_forecasts
from fimjax.evaluation.registry import BenchmarkModel
from fimjax.evaluation.runner import run_benchmark, to_frame, write_metrics
from fimjax.evaluation.scoring import METRICS, compute_references, score
from tests.evaluation.examples import Broken, Repeater, make_dataset, make_forecasts


def fit(model, dataset):
    """Statistical forecasts without pool and cache."""
    fits = [fit_and_forecast(model, y, dataset.info.season, dataset.info.horizon) for y in dataset.histories]
    point, quantiles, seconds, fallback = (np.array(x) for x in zip(*fits))
    made = make_forecasts(dataset)
    return dataclasses.replace(made, point=point, quantiles=quantiles, seconds=seconds, fallback=fallback)


def test_a_row_has_every_metric():
    dataset = make_dataset("m1_quarterly", series=6)
    forecasts, references = make_forecasts(dataset), compute_references(dataset)
    row, _ = score(dataset, forecasts, references)
    assert set(METRICS) < set(row) and not any(name.endswith("_lo") for name in row)
    errors = np.abs(dataset.future - forecasts.point)
    assert row["nd"] == pytest.approx(errors.sum() / dataset.future.sum())
    scales = [np.abs(y[4:] - y[:-4]).mean() for y in dataset.histories]
    assert row["mase"] == pytest.approx(np.mean(errors.mean(axis=1) / scales))
    naive = np.array([np.resize(y[-4:], 8) for y in dataset.histories])
    assert row["mase_pooled"] == pytest.approx(errors.sum() / np.abs(dataset.future - naive).sum())
    low, high = (forecasts.quantiles[..., i] for i in interval_indices(80))
    assert row["coverage_80"] == pytest.approx(np.mean((low <= dataset.future) & (dataset.future <= high)))


def test_owa_of_naive2_is_one():
    dataset = make_dataset("m1_monthly", series=3, length=60)
    references = compute_references(dataset)
    forecasts = dataclasses.replace(make_forecasts(dataset), point=references.naive2)
    assert score(dataset, forecasts, references)[0]["owa"] == pytest.approx(1)


def test_scores_of_a_sample_have_intervals():
    dataset = make_dataset(series=40, population=1000)
    row, resampled = score(dataset, make_forecasts(dataset), compute_references(dataset))
    assert resampled["mase"].shape == (1000,)
    for name in METRICS:
        assert row[f"{name}_lo"] <= row[name] <= row[f"{name}_hi"] or name == "coverage_difference"
    assert row["mase_lo"] < row["mase"] < row["mase_hi"]


def test_intervals_have_the_width_of_the_central_limit_theorem():
    dataset = make_dataset(series=400, population=1000)
    forecasts, references = make_forecasts(dataset), compute_references(dataset)
    row, _ = score(dataset, forecasts, references)
    values = metrics.smape(dataset.future, forecasts.point).numerator
    half = 1.96 * values.std() / np.sqrt(400)
    assert (row["smape_hi"] - row["smape_lo"]) / 2 == pytest.approx(half, rel=0.1)


def test_series_without_a_scale_are_counted():
    dataset = make_dataset(series=4)
    flat = dataclasses.replace(dataset, histories=[np.ones(12), *dataset.histories[1:]])
    row, _ = score(flat, make_forecasts(flat), compute_references(flat))
    assert row["zero_scales"] == 1 and np.isfinite(row["mase"])


def test_every_model_runs_on_every_data_set(tmp_path):
    datasets = [make_dataset("m3_yearly", series=3), make_dataset("m4_weekly", series=2, length=30)]
    models = [BenchmarkModel("mine", Repeater(), ("m4",)), BenchmarkModel("naive", None)]
    results = list(run_benchmark(models, iter(datasets), fit, tmp_path))
    frame = to_frame([result.row for result in results])
    assert list(zip(frame["dataset"], frame["model"], frame["trained_on"])) == [
        ("m3_yearly", "mine", False),
        ("m3_yearly", "naive", False),
        ("m4_weekly", "mine", True),
        ("m4_weekly", "naive", False),
    ]
    assert frame["mase"].iloc[0] == pytest.approx(frame["mase"].iloc[1]), "both repeat the last value"
    assert frame["version"].iloc[1].startswith("statsforecast ")
    stored = pd.read_parquet(tmp_path / "forecasts" / "m4_weekly" / "mine.parquet")
    assert list(stored.columns[:5]) == ["unique_id", "t", "y", "point", "q-2.5"] and len(stored) == 26
    np.testing.assert_allclose(stored["y"], datasets[1].future.ravel(), rtol=1e-6)


def test_metrics_are_written_as_csv_and_json(tmp_path):
    dataset = make_dataset(series=3)
    (result,) = run_benchmark([BenchmarkModel("mine", Repeater())], iter([dataset]), fit, tmp_path)
    write_metrics(to_frame([result.row]), tmp_path)
    frame, (record,) = pd.read_csv(tmp_path / "metrics.csv"), json.loads((tmp_path / "metrics.json").read_text())
    assert list(frame.columns[:3]) == ["dataset", "model", "scrps"]
    assert frame["scrps"][0] == pytest.approx(record["scrps"], rel=1e-5) == pytest.approx(result.row["scrps"], rel=1e-5)
    assert record["version"] is None


def test_an_interrupted_evaluation_continues(tmp_path):
    dataset, model = make_dataset(series=3), Repeater(version="1")
    entry = BenchmarkModel("mine", model)
    (first,) = run_benchmark([entry], iter([dataset]), fit, tmp_path)
    (again,) = run_benchmark([entry], iter([dataset]), fit, tmp_path)
    assert model.calls == 1
    assert again.row["scrps"] == pytest.approx(first.row["scrps"], rel=1e-5)
    list(run_benchmark([entry], iter([make_dataset(series=3, seed=1)]), fit, tmp_path))
    assert model.calls == 2, "other series are other forecasts"
    model.version = "2"
    list(run_benchmark([entry], iter([make_dataset(series=3, seed=1)]), fit, tmp_path))
    assert model.calls == 3, "another version has other forecasts"


def test_a_model_without_a_version_runs_again(tmp_path):
    dataset, model = make_dataset(series=2), Repeater()
    for _ in range(2):
        list(run_benchmark([BenchmarkModel("mine", model)], iter([dataset]), fit, tmp_path))
    assert model.calls == 2


def test_a_forecast_with_nan_leaves_no_file(tmp_path):
    with pytest.raises(EvaluationError, match="series S2 is not finite"):
        list(run_benchmark([BenchmarkModel("mine", Broken())], iter([make_dataset()]), fit, tmp_path))
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_damaged_file_of_forecasts_is_ignored(tmp_path):
    dataset, path = make_dataset(), tmp_path / "f.parquet"
    write_forecasts(path, dataset, make_forecasts(dataset), "1")
    assert read_forecasts(path, dataset, "1") is not None
    path.write_bytes(path.read_bytes()[:-50])
    assert read_forecasts(path, dataset, "1") is None
