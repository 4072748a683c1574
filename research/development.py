"""How good is a model on real series that may be looked at during development?

`python -m research.development --model runs/small/fim` backtests models inside the training parts of M1 and M4: it
forecasts the last h steps of each training part from the steps before them. The test parts are never read. Every change
of prior, architecture and recipe was decided by this script (research/log.md).

`--origins 1 2 3` also forecasts the h steps before the last ones, and the h steps before those. This matters because
thousands of series end in the same years, and a prior that fits one era does not fit the next. `--dates` forecasts each
data set twice, with numbered steps as in the evaluation and with dates as a user would; `--seasonal 0.9` takes only
series with a strong season; `--calibrate` calibrates the intervals on the histories of each backtest.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from fimjax.errors import EvaluationError, PretrainedError
from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.datasets.folder import load_dataset
from fimjax.evaluation.datasets.sampling import take_sample
from fimjax.evaluation.forecasts import LEVELS, Forecasts, quantile_column
from fimjax.evaluation.metrics import geometric_mean
from fimjax.evaluation.registry import BenchmarkModel, Calibrated, run_model
from fimjax.evaluation.scoring import compute_references, score
from fimjax.files import replacing
from fimjax.forecaster import Forecaster
from research.season import decompose

DATASETS = tuple(name for name, info in CATALOG.items() if info.competition in ("m1", "m4"))
"""Data sets whose training parts may be used for development."""

MOST_POINTS = 500
"""Longer histories are cut, because dates in nanoseconds cover only 584 years."""


def development_part(dataset: Dataset, origin: int = 1) -> Dataset:
    """Splits the training parts of a data set into histories and targets.

    Args:
        origin: 1 takes the last h steps as targets, 2 the h steps before them, and so on.
    """
    h = dataset.info.horizon
    long = [i for i, y in enumerate(dataset.histories) if len(y) > origin * h]
    histories = [dataset.histories[i][: len(dataset.histories[i]) - (origin - 1) * h] for i in long]
    return dataclasses.replace(
        dataset.take(np.array(long)),
        histories=[y[-h - MOST_POINTS : -h] for y in histories],
        future=np.stack([y[-h:] for y in histories]),
    )


def strongly_seasonal(dataset: Dataset, least: float) -> Dataset:
    """Selects series whose season explains at least this share of the variance around the level."""
    parts = [decompose(y, dataset.info.season) for y in dataset.histories]
    return dataset.take(np.array([i for i, part in enumerate(parts) if part and part.strength >= least], int))


def dated_frame(dataset: Dataset) -> pd.DataFrame:
    """The histories with dates of their frequency; all of them end on the same date."""
    longest = max(map(len, dataset.histories))
    stamps = pd.date_range("1700-01-01", periods=longest, freq=dataset.info.frequency)
    return pd.DataFrame(
        {
            "unique_id": np.repeat(dataset.ids, [len(y) for y in dataset.histories]),
            "ds": np.concatenate([stamps[longest - len(y) :].to_numpy() for y in dataset.histories]),
            "y": np.concatenate(dataset.histories),
        }
    )


def forecast_by_dates(model: Forecaster, dataset: Dataset) -> Forecasts:
    """Forecasts a frame with dates, whose frequency determines the season."""
    h = dataset.info.horizon
    found = model.forecast(dated_frame(dataset), h, quantiles=LEVELS, nonnegative=dataset.is_nonnegative)
    columns = [found[f"{model.name}-{quantile_column(level)}"].to_numpy() for level in LEVELS]
    zeros = np.zeros(len(dataset))
    return Forecasts(
        ids=dataset.ids,
        point=found[model.name].to_numpy().reshape(-1, h),
        quantiles=np.stack(columns, axis=-1).reshape(-1, h, len(LEVELS)),
        seconds=zeros,
        elapsed=zeros,
        fallback=zeros.astype(bool),
    )


def measure(model: Forecaster | Calibrated, dataset: Dataset) -> dict[str, float]:
    """Scores of a model on a data set, and ratios to the seasonal naive forecast."""
    references, found = compute_references(dataset), run_model(BenchmarkModel(model.name, model), dataset)
    row = score(dataset, found, references)[0]
    naive = score(dataset, dataclasses.replace(found, point=references.last_season), references)[0]
    return {
        "series": len(dataset),
        "sCRPS": row["scrps"],
        "MASE": row["mase"],
        "sCRPS/SNaive": row["scrps"] / naive["nd"],  # sCRPS of a point forecast is ND
        "MASE/SNaive": row["mase"] / naive["mase"],
        "coverage 80": row["coverage_80"],
        "coverage 95": row["coverage_95"],
        "below median": float(np.mean(dataset.future < found.quantiles[..., LEVELS.index(0.5)])),
    }


def summarise(rows: pd.DataFrame) -> str:
    """Geometric means of the ratios over the data sets."""
    error = (rows["coverage 80"] - 0.8).abs().mean()
    means = geometric_mean(rows[["sCRPS/SNaive", "MASE/SNaive"]], axis=0)
    return (
        f"geometric means over {len(rows)} data sets: sCRPS/SNaive {means['sCRPS/SNaive']:.4f}, "
        f"MASE/SNaive {means['MASE/SNaive']:.4f}; 80 % intervals have a coverage error of {error:.3f}"
    )


def compare_steps_with_dates(model: Forecaster, dataset: Dataset) -> dict[str, float]:
    """Scores with numbered steps and with dates, and the largest difference between their quantiles."""
    references = compute_references(dataset)
    found = {"steps": run_model(BenchmarkModel(model.name, model), dataset), "dates": forecast_by_dates(model, dataset)}
    rows = {way: score(dataset, forecasts, references)[0] for way, forecasts in found.items()}
    sizes = np.array([np.abs(y).max() for y in dataset.histories])[:, None, None]
    difference = np.abs(found["steps"].quantiles - found["dates"].quantiles) / np.where(sizes > 0, sizes, 1.0)
    return {
        "series": len(dataset),
        **{f"{name} by {way}": row[name] for name in ("scrps", "mase") for way, row in rows.items()},
        "largest difference": float(difference.max()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model",
        nargs="+",
        default=[None],
        help="names or folders of weights, or runs (default: the bundled weights)",
    )
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS, metavar="NAME")
    parser.add_argument("--sample", type=int, default=500, help="series of each data set (default: 500)")
    parser.add_argument("--data", type=Path, help="data folder (default: FIMJAX_DATA or the user's cache)")
    parser.add_argument("--origins", type=int, nargs="+", default=[1], help="1: the last h steps, 2: those before, ...")
    parser.add_argument("--seasonal", type=float, help="least strength of the season, 0 to 1 (default: any series)")
    parser.add_argument("--calibrate", action="store_true", help="calibrate intervals on the histories")
    parser.add_argument("--dates", action="store_true", help="compare forecasts with steps and with dates")
    parser.add_argument("--output", type=Path, help="CSV file for the scores of all models")
    arguments = parser.parse_args()
    try:
        if min(arguments.origins) < 1:
            raise EvaluationError(f"--origins: {min(arguments.origins)} is less than 1")
        if arguments.dates and arguments.calibrate:
            raise EvaluationError("--dates compares plain forecasts; leave out --calibrate")
        parts = {}
        for name in arguments.datasets:
            dataset = load_dataset(name, arguments.data)
            for origin in arguments.origins:
                part = development_part(dataset, origin)
                if arguments.seasonal is not None:
                    part = strongly_seasonal(part, arguments.seasonal)
                if len(part):
                    label = f"{name} {origin}" if len(arguments.origins) > 1 else name
                    parts[label] = take_sample(part, arguments.sample)
        if not parts:
            raise EvaluationError(f"--seasonal: no series of {', '.join(arguments.datasets)} has such a strong season")
        found = []
        for path in arguments.model:
            forecaster = Forecaster.from_pretrained(path)
            model = Calibrated(forecaster) if arguments.calibrate else forecaster
            score_part = compare_steps_with_dates if arguments.dates else measure
            rows = pd.DataFrame({name: score_part(model, part) for name, part in parts.items()}).T
            print(f"{path or model.name}\n{rows.astype({'series': int}).to_string(float_format='{:.4g}'.format)}")
            if not arguments.dates:
                print(summarise(rows), flush=True)
            found.append(rows.rename_axis("dataset").reset_index().assign(model=path or model.name))
        if arguments.output:
            with replacing(arguments.output) as scratch:
                pd.concat(found).to_csv(scratch, index=False, float_format="%.6g")
    except (EvaluationError, PretrainedError, ValueError) as error:
        print(f"development: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
