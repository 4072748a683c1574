"""Missing points are filled in by FIM-l and by other interpolators, and compared with the true values."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fimjax.config import PriorConfig, PriorWeights
from fimjax.errors import EvaluationError
from fimjax.forecaster import Forecaster
from fimjax.training.step import PARAMS_STREAM, TRAINING_STREAM, VALIDATION_STREAM
from research import filling, interpolators
from research.filling import (
    DATASETS,
    FEWEST_POINTS,
    FILLING_STREAM,
    Window,
    held_out_windows,
    main,
    measure_dataset,
    measure_windows,
    remove_points,
)
from research.interpolators import INTERPOLATORS, cubic_spline, gaussian_process, linear
from tests.evaluation.examples import make_dataset, write_dataset
from tests.inference.small import forecaster

METHODS = ["FIM-l", "linear", "cubic spline", "Gaussian process"]
TIMES, QUERIES = np.array([0.0, 1.0, 2.5, 3.0, 5.0, 6.0, 9.0]), np.linspace(0.2, 8.9, 20)


@pytest.fixture(scope="module")
def small() -> Forecaster:
    """A forecaster with random weights, whose prior has one family and gaps in every series."""
    model = forecaster()
    prior = PriorConfig(weights=PriorWeights(random_walk=1.0), group_size=4, missing=1.0, short_history=0.6, noise=0.7)
    windows = dataclasses.replace(model.config.windows, min_steps=12)
    return Forecaster(dataclasses.replace(model.config, prior=prior, windows=windows), model.params)


@pytest.fixture(scope="module")
def windows(small) -> list[Window]:
    return held_out_windows(small.config, small.params, series=8, seed=0)


def test_linear_interpolation_is_that_of_numpy():
    values = np.sin(TIMES)
    np.testing.assert_array_equal(linear(TIMES, values, QUERIES), np.interp(QUERIES, TIMES, values))


def test_a_spline_reproduces_a_cubic_and_accepts_few_points():
    cubic = lambda t: 2 - t + 0.5 * t**2 - 0.1 * t**3
    np.testing.assert_allclose(cubic_spline(TIMES, cubic(TIMES), QUERIES), cubic(QUERIES), atol=1e-10)
    line, inside = 3 - 2 * TIMES, np.array([0.5])
    for n in (2, 3):
        np.testing.assert_allclose(cubic_spline(TIMES[:n], line[:n], inside), 3 - 2 * inside)
    np.testing.assert_array_equal(cubic_spline(TIMES[:1], line[:1], TIMES[:1]), line[:1])


def test_a_gaussian_process_recovers_a_smooth_function_from_noise():
    times, queries = np.arange(0.0, 100.0, 2.0), np.arange(1.0, 97.0, 2.0)
    wave = lambda t: 1000 + 50 * np.sin(t / 8)
    noisy = wave(times) + 10 * np.random.default_rng(0).normal(size=(10, len(times)))
    error = lambda fit: np.mean([np.abs(fit(times, y, queries) - wave(queries)) for y in noisy])
    assert error(gaussian_process) < 0.7 * error(linear) < 0.7 * error(cubic_spline)


def test_a_gaussian_process_follows_a_function_without_noise_and_keeps_a_constant():
    wave = lambda t: np.sin(t / 2)
    error = lambda fit: np.abs(fit(TIMES, wave(TIMES), QUERIES) - wave(QUERIES)).max()
    assert error(gaussian_process) < 0.3 * error(linear)
    np.testing.assert_array_equal(gaussian_process(TIMES, np.full(len(TIMES), 7.0), QUERIES), 7.0)


def test_a_gaussian_process_maximises_the_likelihood_over_its_grid(monkeypatch):
    """SciPy's likelihood of all lengths and noises has its maximum at the same point."""
    values = np.sin(TIMES) + 0.2 * np.random.default_rng(2).normal(size=len(TIMES))
    y, noises = (values - values.mean()) / values.std(), np.array([0.01, 0.1, 1.0])
    lengths, distances = np.geomspace(np.median(np.diff(TIMES)), 4 * 9.0, 5), np.abs(TIMES[:, None] - TIMES)
    found = []
    for length, noise in itertools.product(lengths, noises):
        gram = np.exp(-distances / length) + noise * np.eye(len(y))
        variance = y @ np.linalg.solve(gram, y) / len(y)
        found.append((multivariate_normal(cov=variance * gram).logpdf(y), length, noise))
    _, length, noise = max(found)
    gram = np.exp(-distances / length) + noise * np.eye(len(y))
    expected = np.exp(-np.abs(QUERIES[:, None] - TIMES) / length) @ np.linalg.solve(gram, values - values.mean())
    for name, choice in {"KERNELS": (lambda d: np.exp(-d),), "LENGTHS": 5, "NOISES": noises}.items():
        monkeypatch.setattr(interpolators, name, choice)
    np.testing.assert_allclose(gaussian_process(TIMES, values, QUERIES), values.mean() + expected, atol=1e-10)


def test_only_inner_points_are_removed():
    for count, expected in {200: 59, 13: 3, 4: 1, 3: 0, 2: 0, 1: 0}.items():
        for seed in range(20):
            removed = remove_points(count, np.random.default_rng(seed))
            assert removed.shape == (count,) and removed.sum() == expected
            assert not removed[0] and not removed[-1]
    same, other = (remove_points(200, np.random.default_rng(seed)) for seed in (0, 1))
    np.testing.assert_array_equal(same, remove_points(200, np.random.default_rng(0)))
    assert (same != other).any()


def test_windows_are_held_out_and_queries_lie_between_observations(small, windows):
    assert FILLING_STREAM not in (PARAMS_STREAM, TRAINING_STREAM, VALIDATION_STREAM)
    assert windows
    for w in windows:
        assert len(w.times) >= FEWEST_POINTS and (np.diff(w.times) > 0).all()
        assert w.values.min() == 0 and w.values.max() == 1
        assert w.times[0] < w.queries.min() and w.queries.max() < w.times[-1]
        assert not np.isin(w.queries, w.times).any()
        assert w.quantiles.shape == (len(w.queries), len(small.config.model.quantile_levels))
    again = held_out_windows(small.config, small.params, series=8, seed=0)
    other = held_out_windows(small.config, small.params, series=8, seed=1)
    np.testing.assert_array_equal(again[0].noisy, windows[0].noisy)
    assert [len(w.times) for w in other] != [len(w.times) for w in windows]


def test_windows_without_missing_points_are_rejected(small, monkeypatch):
    monkeypatch.setattr(filling, "FEWEST_POINTS", 1000)
    with pytest.raises(EvaluationError, match="no window of 4 series has a missing point"):
        held_out_windows(small.config, small.params, series=4, seed=0)


def test_errors_are_means_over_windows_with_clipped_targets():
    levels, line = (0.1, 0.5, 0.9), np.array([0.0, 1.0])
    say = lambda *median: np.array(median)[:, None] + np.array([-0.1, 0.0, 0.1])
    windows = [
        Window(line, line, np.array([0.5]), np.array([0.55]), np.array([0.5]), say(0.5)),
        Window(line, line, np.array([0.2, 0.8]), np.array([0.2, 9.0]), np.array([0.2, 0.8]), say(0.4, 0.8)),
    ]
    table = measure_windows(windows, levels, clip=2.5)
    assert list(table.index) == METHODS
    row = table.loc["FIM-l"]
    np.testing.assert_allclose(row["MAE noisy"], np.mean([0.05, (0.2 + 1.7) / 2]))
    np.testing.assert_allclose(row["RMSE noisy"], np.mean([0.05**2, (0.2**2 + 1.7**2) / 2]) ** 0.5)
    np.testing.assert_allclose(row["MAE clean"], 0.05)
    np.testing.assert_allclose(row["coverage 80"], 0.5)
    assert table.loc["linear", "MAE clean"] < 1e-12 and np.isnan(table.loc["linear", "coverage 80"])
    assert np.isnan(measure_windows(windows[:1], (), clip=2.5).loc["FIM-l", "coverage 80"])


class Oracle:
    """Fills in straight lines, through the interpolating interface."""

    name = "O"

    def interpolate(self, df, *, freq, season_length):
        self.frame, self.season = df, season_length
        filled = df.groupby("unique_id", sort=False)["y"].transform(lambda y: y.interpolate())
        return df.assign(O=filled.to_numpy())


def test_the_model_fills_in_the_removed_points_of_each_training_part(monkeypatch):
    monkeypatch.setattr(filling, "MOST_POINTS", 42)
    dataset, model = make_dataset("m4_monthly", series=4, length=50), Oracle()
    constant = dataclasses.replace(dataset, histories=[np.full(30, 5.0), *dataset.histories[1:]])
    found = measure_dataset(model, constant, seed=0)
    assert list(found) == METHODS and model.season == 12
    assert found["FIM-l"] == pytest.approx(found["linear"])
    assert list(model.frame["unique_id"].unique()) == ["S1", "S2", "S3"]  # a constant has no step to measure by
    for (_, rows), history in zip(model.frame.groupby("unique_id"), dataset.histories[1:]):
        known = rows["y"].notna().to_numpy()
        assert len(rows) == 42 and (~known).sum() == 12
        np.testing.assert_array_equal(rows["y"][known], history[-42:][known])
    among = model.frame.loc[model.frame["unique_id"] == "S2", "y"]
    one = dataset.take(np.array([2]))
    measure_dataset(model, one, seed=0)
    np.testing.assert_array_equal(model.frame["y"], among)
    with pytest.raises(EvaluationError, match="m4_monthly: no series has a point"):
        measure_dataset(model, dataclasses.replace(one, histories=[np.ones(3)]), seed=0)


def test_the_command_prints_two_tables(small, tmp_path, monkeypatch, capsys):
    for name in DATASETS:
        write_dataset(tmp_path, make_dataset(name, series=3))
    monkeypatch.setattr(filling.Forecaster, "from_pretrained", lambda source: small)
    assert main(["--series", "8", "--sample", "2", "--data", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    held_out, removed = out.split("\nErrors at removed points")
    for table in (held_out, removed):
        assert all(name in table for name in INTERPOLATORS) and "FIM-l" in table
    assert "coverage 80" in held_out and all(name in removed for name in (*DATASETS, "ratio to linear"))
    assert "nan" not in out
    (row,) = (line for line in removed.splitlines() if line.startswith("linear"))
    assert row.split()[-1] == "1"


def test_errors_are_one_sentence(small, tmp_path, monkeypatch, capsys):
    assert main(["--sample", "0"]) == 2
    assert main(["--model", str(tmp_path / "none")]) == 2
    monkeypatch.setattr(filling.Forecaster, "from_pretrained", lambda source: small)
    assert main(["--series", "8", "--data", str(tmp_path / "none")]) == 2
    sample, model, data = capsys.readouterr().err.splitlines()
    assert sample == "filling: sample: 0 is not a number of series"
    assert model.startswith("filling: ") and "neither a folder nor a bundled model" in model
    assert data.startswith("filling: data folder") and data.endswith("does not exist")
