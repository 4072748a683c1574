"""What may be looked at while a model is made: backtests inside the training parts of M1 and M4.

`python -m research.development --model runs/small/fim` forecasts the last steps of the training parts from
what comes before them; the test parts are not read. With --dates each data set is forecast twice: by numbered steps, as
the evaluation does, and by frames with dates, whose frequency and season the forecaster finds by itself, as for any
user. With --seasonal 0.9 only series of strong seasons are taken. With --origins 1 2 3 the steps before the last ones,
and those before them, are forecast too: the last years of thousands of series are the same years, and what these had in
common is no property of series. With --calibrate intervals go by the histories of each backtest.
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
from fimjax.evaluation.forecasts import LEVELS, Forecasts, level_column
from fimjax.evaluation.metrics import geometric_mean
from fimjax.evaluation.registry import BenchmarkModel, ask
from fimjax.evaluation.scoring import reference_scores, score
from fimjax.evaluation.variants import Calibrated
from fimjax.files import replacing
from fimjax.forecaster import Forecaster
from research.season import take_apart

DATASETS = tuple(name for name, info in CATALOG.items() if info.competition in ("m1", "m4"))
"""The data sets whose training parts may be looked at."""

MOST_POINTS = 500
"""Longer histories are cut: dates in nanoseconds last for 584 years."""


def development_part(dataset: Dataset, origin: int = 1) -> Dataset:
    """The training parts of a data set, the last steps of each as its test part; for an origin of 2 those before the
    last, and so on."""
    h = dataset.info.horizon
    long = [i for i, y in enumerate(dataset.histories) if len(y) > origin * h]
    histories = [dataset.histories[i][: len(dataset.histories[i]) - (origin - 1) * h] for i in long]
    return dataclasses.replace(
        dataset.take(np.array(long)),
        histories=[y[-h - MOST_POINTS : -h] for y in histories],
        future=np.stack([y[-h:] for y in histories]),
    )


def strongly_seasonal(dataset: Dataset, least: float) -> Dataset:
    """The series whose season explains at least that much of what is left beside their level."""
    parts = [take_apart(y, dataset.info.season) for y in dataset.histories]
    return dataset.take(np.array([i for i, part in enumerate(parts) if part and part.strength >= least], int))


def dated_frame(dataset: Dataset) -> pd.DataFrame:
    """The histories with dates of their frequency, all of them ending on the same one."""
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
    """The forecasts of a user's frame, whose frequency says what a season is."""
    h = dataset.info.horizon
    answer = model.forecast(dated_frame(dataset), h, quantiles=LEVELS, nonnegative=dataset.is_nonnegative)
    columns = [answer[f"{model.name}-{level_column(level)}"].to_numpy() for level in LEVELS]
    zeros = np.zeros(len(dataset))
    return Forecasts(
        ids=dataset.ids,
        point=answer[model.name].to_numpy().reshape(-1, h),
        quantiles=np.stack(columns, axis=-1).reshape(-1, h, len(LEVELS)),
        seconds=zeros,
        elapsed=zeros,
        fallback=zeros.astype(bool),
    )


def measure(model: Forecaster | Calibrated, dataset: Dataset) -> dict[str, float]:
    """Figures of a data set, beside those of the last season repeated."""
    by, found = reference_scores(dataset), ask(BenchmarkModel(model.name, model), dataset)
    row = score(dataset, found, by)[0]
    repeated = dataclasses.replace(found, point=by.last_season)
    naive = score(dataset, repeated, by)[0]
    return {
        "series": len(dataset),
        "sCRPS": row["scrps"],
        "MASE": row["mase"],
        "sCRPS/SNaive": row["scrps"] / naive["nd"],  # of a single value, sCRPS is the normalised deviation
        "MASE/SNaive": row["mase"] / naive["mase"],
        "coverage 80": row["coverage_80"],
        "coverage 95": row["coverage_95"],
        "below median": np.mean(dataset.future < found.quantiles[..., LEVELS.index(0.5)]),
    }


def summarise(rows: pd.DataFrame) -> str:
    """What the figures come to over the data sets."""
    off = (rows["coverage 80"] - 0.8).abs().mean()
    means = geometric_mean(rows[["sCRPS/SNaive", "MASE/SNaive"]], axis=0)
    return (
        f"geometric means over {len(rows)} data sets: sCRPS/SNaive {means['sCRPS/SNaive']:.4f}, "
        f"MASE/SNaive {means['MASE/SNaive']:.4f}; 80 % intervals are off by {off:.3f}"
    )


def compare_ways(model: Forecaster, dataset: Dataset) -> dict[str, float]:
    """Figures by the evaluation's steps and by dated frames, and by how much the forecasts differ at most."""
    by = reference_scores(dataset)
    found = {"steps": ask(BenchmarkModel(model.name, model), dataset), "dates": forecast_by_dates(model, dataset)}
    rows = {way: score(dataset, forecasts, by)[0] for way, forecasts in found.items()}
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
        help="names or folders of weights, or runs (default: those that ship)",
    )
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS, metavar="NAME")
    parser.add_argument("--sample", type=int, default=500, help="series of each data set (default: 500)")
    parser.add_argument("--data", type=Path, help="folder of the data (default: FIMJAX_DATA, or the user's cache)")
    parser.add_argument("--origins", type=int, nargs="+", default=[1], help="1: the last steps, 2: those before them")
    parser.add_argument("--seasonal", type=float, help="least strength of the season, 0 to 1 (default: any series)")
    parser.add_argument("--calibrate", action="store_true", help="widths by how far off those of the last steps were")
    parser.add_argument("--dates", action="store_true", help="compare forecasts by steps with those by dated frames")
    parser.add_argument("--output", type=Path, help="where to write the figures of all models, as CSV")
    arguments = parser.parse_args()
    try:
        if min(arguments.origins) < 1:
            raise EvaluationError(f"--origins: counted from 1, the last steps, not {min(arguments.origins)}")
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
            raise EvaluationError(f"--seasonal: no series of {', '.join(arguments.datasets)} has a season so strong")
        found = []
        for path in arguments.model:
            model = Forecaster.from_pretrained(path)
            model = Calibrated(model) if arguments.calibrate else model
            look = compare_ways if arguments.dates else measure
            rows = pd.DataFrame({name: look(model, part) for name, part in parts.items()}).T
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
