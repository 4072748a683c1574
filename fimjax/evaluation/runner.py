"""The benchmark: every model on every data set, forecasts and figures on disk as they come."""

import dataclasses
import json
import os
import platform
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fimjax.evaluation.baselines.committed import committed_row
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import (
    Forecasts,
    fingerprint,
    read_forecasts,
    require_finite,
    write_forecasts,
)
from fimjax.evaluation.published import HERE
from fimjax.evaluation.registry import BenchmarkModel, ask
from fimjax.evaluation.scoring import METRICS, reference_scores, score
from fimjax.files import replacing

ABOUT_COLUMNS = ("series", "population", "seed", "data", "seen", "zero_scales", "fallbacks")
TIME_COLUMNS = ("cpu_seconds", "wall_seconds", "series_per_second")
COLUMNS = ("dataset", "model", *METRICS, *ABOUT_COLUMNS, *TIME_COLUMNS, "version", "machine", "source")
"""Columns of the benchmark's table; a sample's bounds, `scrps_lo`, `scrps_hi` and so on, follow."""

Fit = Callable[[str, Dataset], Forecasts]
"""How a statistical model comes to its forecasts."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """One model's forecasts of one data set, with its row of the table; no forecasts for committed figures."""

    dataset: Dataset
    contender: BenchmarkModel
    forecasts: Forecasts | None
    row: dict[str, Any]
    resampled: dict[str, np.ndarray]
    """The figures of a sample's bootstrap resamples, by name."""


def run_benchmark(
    contenders: list[BenchmarkModel], datasets: Iterator[Dataset], fit: Fit | None, out: Path, seed: int = 0
) -> Iterator[Answer]:
    """Yields an answer for every data set and model, in this order; forecasts are in `out` by then.

    Args:
        fit: fits statistical models; None takes their figures from those that ship with fimjax.
    """
    for dataset in datasets:
        by = reference_scores(dataset, seed)
        for contender in contenders:
            if contender.is_statistical and fit is None:
                yield Answer(dataset, contender, None, committed_row(contender.name, dataset, by), {})
                continue
            forecasts = _forecast(contender, dataset, fit, out)
            figures, resampled = score(dataset, forecasts, by)
            yield Answer(dataset, contender, forecasts, _row(contender, dataset, forecasts, figures, seed), resampled)


def _forecast(contender: BenchmarkModel, dataset: Dataset, fit: Fit, out: Path) -> Forecasts:
    path = out / "forecasts" / dataset.info.name / f"{contender.name}.parquet"
    if contender.is_statistical:
        forecasts = fit(contender.name, dataset)
    else:
        forecasts = read_forecasts(path, dataset, contender.version)
        if forecasts is not None:
            return forecasts
        forecasts = ask(contender, dataset)
    require_finite(forecasts, contender.name, dataset.info.name)
    write_forecasts(path, dataset, forecasts, contender.version)
    return forecasts


def _row(
    contender: BenchmarkModel, dataset: Dataset, forecasts: Forecasts, figures: dict[str, float], seed: int
) -> dict[str, Any]:
    elapsed = float(forecasts.elapsed.sum())
    return {
        "dataset": dataset.info.name,
        "model": contender.name,
        **figures,
        "series": len(dataset),
        "population": dataset.population,
        "seed": seed,
        "data": fingerprint(dataset),
        "seen": contender.has_seen(dataset.info.name),
        "fallbacks": int(np.sum(forecasts.fallback)),
        "cpu_seconds": float(forecasts.seconds.sum()),
        "wall_seconds": elapsed,
        "series_per_second": len(dataset) / elapsed if elapsed > 0 else np.nan,
        "version": f"statsforecast {version('statsforecast')}" if contender.is_statistical else contender.version,
        "machine": machine(),
        "source": HERE,
    }


def machine() -> str:
    """What the times were measured on."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


def to_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The benchmark's table, with columns for a sample's bounds only where there is a sample."""
    frame = pd.DataFrame(rows)
    bounds = [f"{name}_{end}" for name in METRICS for end in ("lo", "hi")]
    return frame[[c for c in (*COLUMNS, *bounds) if c in frame.columns and not frame[c].isna().all() or c in COLUMNS]]


def write_metrics(frame: pd.DataFrame, out: Path) -> list[Path]:
    """The table as metrics.csv and metrics.json."""
    with replacing(out / "metrics.csv") as scratch:
        frame.to_csv(scratch, index=False, float_format="%.6g")
    with replacing(out / "metrics.json") as scratch:
        # By way of pandas, which writes NaN as null.
        scratch.write_text(json.dumps(json.loads(frame.to_json(orient="records")), indent=1))
    return [out / "metrics.csv", out / "metrics.json"]
