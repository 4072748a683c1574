"""What may be looked at while a model is made: backtests inside the training parts of M1 and M4.

`python -m fimjax.evaluation.development --model runs/small/fim` forecasts the last steps of the training parts from
what comes before them; the test parts are not read. Each data set is forecast twice: by numbered steps, as the
evaluation does, and by frames with dates, whose frequency and season the forecaster finds by itself, as for any user.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from fimjax.evaluation.catalog import CATALOG, EvaluationError
from fimjax.evaluation.contenders import Contender, ask
from fimjax.evaluation.datasets import Dataset
from fimjax.evaluation.folder import load_dataset
from fimjax.evaluation.forecasts import LEVELS, Forecasts, level_column
from fimjax.evaluation.sampling import take_sample
from fimjax.evaluation.scoring import score, yardsticks
from fimjax.forecasting.forecaster import Forecaster

DATASETS = tuple(name for name, info in CATALOG.items() if info.competition in ("m1", "m4"))
"""The data sets whose training parts may be looked at."""

MOST_POINTS = 500
"""Longer histories are cut: dates in nanoseconds last for 584 years."""


def development_part(dataset: Dataset) -> Dataset:
    """The training parts of a data set, the last steps of each as its test part."""
    h = dataset.info.horizon
    long = [i for i, y in enumerate(dataset.histories) if len(y) > h]
    histories = [dataset.histories[i] for i in long]
    return dataclasses.replace(
        dataset.take(np.array(long)),
        histories=[y[-h - MOST_POINTS : -h] for y in histories],
        future=np.stack([y[-h:] for y in histories]),
    )


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
    """The forecasts of a user's frame; where the benchmark knows of no season, the user says so."""
    h, season = dataset.info.horizon, None if dataset.info.season > 1 else 1
    answer = model.forecast(dated_frame(dataset), h, quantiles=LEVELS, season_length=season)
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


def compare(model: Forecaster, dataset: Dataset) -> dict[str, float]:
    """Figures of a data set by the evaluation and by dated frames, and by how much the forecasts differ at most."""
    by = yardsticks(dataset)
    found = {"steps": ask(Contender(model.name, model), dataset), "dates": forecast_by_dates(model, dataset)}
    rows = {way: score(dataset, forecasts, by)[0] for way, forecasts in found.items()}
    sizes = np.array([np.abs(y).max() for y in dataset.histories])[:, None, None]
    difference = np.abs(found["steps"].quantiles - found["dates"].quantiles) / np.where(sizes > 0, sizes, 1.0)
    naive = dataclasses.replace(found["steps"], point=by.last_season)
    return {
        "series": len(dataset),
        **{f"{name} by {way}": row[name] for name in ("scrps", "mase") for way, row in rows.items()},
        "largest difference": float(difference.max()),
        "MASE/SNaive": rows["steps"]["mase"] / score(dataset, naive, by)[0]["mase"],
        "coverage 80": rows["steps"]["coverage_80"],
        "coverage 95": rows["steps"]["coverage_95"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="name or folder of weights, or a run (default: the weights that ship)")
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS, metavar="NAME")
    parser.add_argument("--sample", type=int, default=500, help="series of each data set (default: 500)")
    parser.add_argument("--data", type=Path, help="folder of the data (default: FIMJAX_DATA, or the user's cache)")
    arguments = parser.parse_args()
    try:
        model, rows = Forecaster.from_pretrained(arguments.model), {}
        for name in arguments.datasets:
            whole = load_dataset(name, arguments.data)
            rows[name] = compare(model, take_sample(development_part(whole), arguments.sample))
    except EvaluationError as error:
        print(f"development: {error}", file=sys.stderr)
        return 2
    print(pd.DataFrame(rows).T.astype({"series": int}).to_string(float_format="{:.4g}".format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
