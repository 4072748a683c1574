"""The benchmark loop: every model on every data set; forecasts are written as soon as they are made."""

import dataclasses
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fimjax.evaluation.baselines.bundled import bundled_row
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import (
    Forecasts,
    fingerprint,
    read_forecasts,
    require_finite,
    write_forecasts,
)
from fimjax.evaluation.published import MEASURED
from fimjax.evaluation.registry import BenchmarkModel, run_model
from fimjax.evaluation.scoring import METRICS, compute_references, score
from fimjax.files import replacing

DATA_COLUMNS = ("series", "population", "seed", "data", "trained_on", "zero_scales", "fallbacks")
TIME_COLUMNS = ("cpu_seconds", "wall_seconds", "series_per_second")
COLUMNS = ("dataset", "model", *METRICS, *DATA_COLUMNS, *TIME_COLUMNS, "version", "machine", "source")
"""Columns of metrics.csv; the bounds of a sample's scores follow (`scrps_lo`, `scrps_hi`, ...)."""

Fit = Callable[[str, Dataset], Forecasts]
"""Fits a statistical model, named by its name, to all series of a data set."""


@dataclasses.dataclass(frozen=True)
class BenchmarkResult:
    """Forecasts and scores of one model on one data set."""

    dataset: Dataset
    model: BenchmarkModel
    forecasts: Forecasts | None
    """None for bundled scores."""
    row: dict[str, Any]
    """The row of metrics.csv."""
    resampled: dict[str, np.ndarray]
    """By metric, the scores of a sample's bootstrap resamples [R]; empty for a whole data set."""


def run_benchmark(
    models: list[BenchmarkModel], datasets: Iterable[Dataset], fit: Fit | None, out: Path, seed: int = 0
) -> Iterator[BenchmarkResult]:
    """Yields the results of all models on the first data set, then on the next.

    Args:
        fit: fits statistical models; None takes the scores that ship with fimjax instead.
        out: folder; a result's forecasts are written there before it is yielded.
        seed: of the bootstrap resamples.
    """
    for dataset in datasets:
        references = compute_references(dataset, seed)
        for model in models:
            if model.is_statistical and fit is None:
                yield BenchmarkResult(dataset, model, None, bundled_row(model.name, dataset, references), {})
                continue
            forecasts = _forecast(model, dataset, fit, out)
            scores, resampled = score(dataset, forecasts, references)
            yield BenchmarkResult(dataset, model, forecasts, _row(model, dataset, forecasts, scores, seed), resampled)


def _forecast(model: BenchmarkModel, dataset: Dataset, fit: Fit | None, out: Path) -> Forecasts:
    path = out / "forecasts" / dataset.info.name / f"{model.name}.parquet"
    if model.is_statistical:
        assert fit is not None
        forecasts = fit(model.name, dataset)
    else:
        earlier = read_forecasts(path, dataset, model.version)
        if earlier is not None:
            return earlier
        forecasts = run_model(model, dataset)
    require_finite(forecasts, model.name, dataset.info.name)
    write_forecasts(path, dataset, forecasts, model.version)
    return forecasts


def _row(
    model: BenchmarkModel, dataset: Dataset, forecasts: Forecasts, scores: dict[str, float], seed: int
) -> dict[str, Any]:
    elapsed = float(forecasts.elapsed.sum())
    return {
        "dataset": dataset.info.name,
        "model": model.name,
        **scores,
        "series": len(dataset),
        "population": dataset.population,
        "seed": seed,
        "data": fingerprint(dataset),
        "trained_on": model.is_trained_on(dataset.info.name),
        "fallbacks": int(np.sum(forecasts.fallback)),
        "cpu_seconds": float(forecasts.seconds.sum()),
        "wall_seconds": elapsed,
        "series_per_second": len(dataset) / elapsed if elapsed > 0 else np.nan,
        "version": f"statsforecast {version('statsforecast')}" if model.is_statistical else model.version,
        "machine": _machine(),
        "source": MEASURED,
    }


def _machine() -> str:
    """The machine on which the times were measured."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


def to_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Makes the frame of metrics.csv; it has columns for bounds only if a data set is a sample."""
    frame = pd.DataFrame(rows)
    bounds = [f"{name}_{end}" for name in METRICS for end in ("lo", "hi")]
    return frame[[c for c in (*COLUMNS, *bounds) if (c in frame.columns and not frame[c].isna().all()) or c in COLUMNS]]


def write_metrics(frame: pd.DataFrame, out: Path) -> list[Path]:
    """Writes metrics.csv and metrics.json."""
    with replacing(out / "metrics.csv") as scratch:
        frame.to_csv(scratch, index=False, float_format="%.6g")
    with replacing(out / "metrics.json") as scratch:
        # pandas writes NaN as null, which json.dumps does not.
        scratch.write_text(json.dumps(json.loads(frame.to_json(orient="records")), indent=1))
    return [out / "metrics.csv", out / "metrics.json"]
