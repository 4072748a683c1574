"""Adds the statistical models' rows of evaluations to the figures that ship with fimjax.

`python -m research.commit_figures results/metrics.csv ...`: a row takes the place of an earlier one of the same model
on as many series of the same data set.
"""

import json
import sys
from importlib.resources import files
from pathlib import Path

import pandas as pd

from fimjax.evaluation.baselines.statistical import COMBINED, SINGLE
from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.datasets.folder import load_dataset
from fimjax.evaluation.datasets.sampling import sampling_order
from fimjax.evaluation.forecasts import series_fingerprints
from fimjax.evaluation.published import MEASURED, SAMPLES, STATISTICAL
from fimjax.files import replacing

KEY = ["dataset", "model", "series"]
TEXT = {"data": str}


def merge(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """The last row of each model on each sample of each data set, in the order of the catalog, large samples first."""
    rows = pd.concat(tables, ignore_index=True)
    rows = rows[rows["model"].isin((*SINGLE, *COMBINED))].drop_duplicates(KEY, keep="last")
    places = {name: i for i, name in enumerate((*CATALOG, *SINGLE, *COMBINED))}
    rows = rows.sort_values("series", ascending=False, kind="stable")
    return rows.sort_values(KEY[:2], key=lambda column: column.map(places), kind="stable")


def sampled_series(table: pd.DataFrame) -> dict[str, list[str]]:
    """For each data set that was sampled, the fingerprints of the largest sample's series, in the order of sampling."""
    samples = {}
    largest = table[table["series"] < table["population"]].groupby("dataset", sort=False)[["series", "seed"]].max()
    for name, size, seed in largest.itertuples():
        dataset = load_dataset(name)
        found = series_fingerprints(dataset)
        samples[name] = [found[i] for i in sampling_order(dataset, seed)[:size]]
    return samples


def main(paths: list[str], target: Path) -> None:
    """Merges the tables that evaluations wrote into `target`."""
    tables = [pd.read_csv(path, dtype=TEXT) for path in paths]
    measured = [table[table["source"] == MEASURED] for table in tables]
    earlier = [pd.read_csv(target, dtype=TEXT)] if target.is_file() else []
    table = merge([*earlier, *measured])
    samples = json.dumps(sampled_series(table), indent=0)
    with replacing(target) as scratch:
        table.to_csv(scratch, index=False, float_format="%.6g")
    if target.name == STATISTICAL:
        with replacing(target.with_name(SAMPLES)) as scratch:
            scratch.write_text(samples)


if __name__ == "__main__":
    name = STATISTICAL
    if sys.argv[1:2] == ["--as"]:
        name, sys.argv[1:] = sys.argv[2], sys.argv[3:]
    main(sys.argv[1:], Path(str(files("fimjax.evaluation.published") / name)))
