"""How do the scores of statistical models get into the package? This script adds rows of evaluations to them.

`python -m research.bundled_scores results/metrics.csv ...` takes the rows of statistical models. A row replaces an
earlier one of the same model on as many series of the same data set.
"""

import argparse
import json
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
    """Keeps the last row of each model on each sample, in the order of the catalog, large samples first."""
    rows = pd.concat(tables, ignore_index=True)
    rows = rows[rows["model"].isin((*SINGLE, *COMBINED))].drop_duplicates(KEY, keep="last")
    order = {name: i for i, name in enumerate((*CATALOG, *SINGLE, *COMBINED))}
    rows = rows.sort_values("series", ascending=False, kind="stable")
    return rows.sort_values(KEY[:2], key=lambda column: column.map(order), kind="stable")


def sampled_series(table: pd.DataFrame) -> dict[str, list[str]]:
    """For each sampled data set, the fingerprints of the largest sample's series in sampling order."""
    samples = {}
    largest = table[table["series"] < table["population"]].groupby("dataset", sort=False)[["series", "seed"]].max()
    for name, size, seed in largest.itertuples():
        dataset = load_dataset(name)
        found = series_fingerprints(dataset)
        samples[name] = [found[i] for i in sampling_order(dataset, seed)[:size]]
    return samples


def add_scores(paths: list[Path], target: Path) -> None:
    """Merges the metrics of evaluations into `target`; scores that were bundled before are skipped."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metrics", type=Path, nargs="+", help="metrics.csv of evaluations")
    default = Path(str(files("fimjax.evaluation.published") / STATISTICAL))
    parser.add_argument("--target", type=Path, default=default, help="file of the scores (default: the bundled ones)")
    arguments = parser.parse_args()
    add_scores(arguments.metrics, arguments.target)


if __name__ == "__main__":
    main()
