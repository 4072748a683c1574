"""Adds the statistical models' rows of evaluations to the figures that ship with fimjax.

`python -m fimjax.evaluation.commit results/metrics.csv ...`: a row takes the place of an earlier one of the same model
on the same data set.
"""

import sys
from importlib.resources import files
from pathlib import Path

import pandas as pd

from fimjax.evaluation.catalog import CATALOG
from fimjax.evaluation.forecasts import replacing
from fimjax.evaluation.published import HERE, STATISTICAL
from fimjax.evaluation.statistical import COMBINED, SINGLE

KEY = ["dataset", "model"]
TEXT = {"data": str}


def merge(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """The last row of each model on each data set, in the order of the catalog."""
    rows = pd.concat(tables, ignore_index=True)
    rows = rows[rows["model"].isin((*SINGLE, *COMBINED))].drop_duplicates(KEY, keep="last")
    places = {name: i for i, name in enumerate((*CATALOG, *SINGLE, *COMBINED))}
    return rows.sort_values(KEY, key=lambda column: column.map(places))


def main(paths: list[str], target: Path) -> None:
    """Merges the tables that evaluations wrote into `target`."""
    tables = [pd.read_csv(path, dtype=TEXT) for path in paths]
    measured = [table[table["source"] == HERE] for table in tables]
    earlier = [pd.read_csv(target, dtype=TEXT)] if target.is_file() else []
    with replacing(target) as scratch:
        merge([*earlier, *measured]).to_csv(scratch, index=False, float_format="%.6g")


if __name__ == "__main__":
    name = STATISTICAL
    if sys.argv[1:2] == ["--as"]:
        name, sys.argv[1:] = sys.argv[2], sys.argv[3:]
    main(sys.argv[1:], Path(str(files("fimjax.evaluation.published") / name)))
