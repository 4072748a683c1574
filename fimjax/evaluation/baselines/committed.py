"""The statistical models' figures that ship with fimjax, and the series that they are of."""

from typing import Any

import numpy as np

from fimjax.errors import EvaluationError
from fimjax.evaluation import metrics
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import fingerprint, series_fingerprints
from fimjax.evaluation.published import COMMITTED, STATISTICAL, read_published, read_samples
from fimjax.evaluation.scoring import Yardsticks

CLOSE = 0.005
"""How far SeasonalNaive's figures on another copy of a data set may be off, relatively: copies differ in digits."""


def committed_series(dataset: Dataset, models: list[str]) -> Dataset:
    """The most series of a data set on which figures of all these models are committed."""
    name = dataset.info.name
    table = read_published(STATISTICAL)
    table = table[(table["dataset"] == name) & table["model"].isin(models)]
    sizes = table.groupby("series")["model"].nunique()
    sizes = sizes.index[sizes == len(models)]
    if not len(sizes):
        raise EvaluationError(f"data set {name}: no committed figures of {', '.join(models)} are of the same series")
    size = int(sizes.max())
    if size == table["population"].max():
        return dataset
    wanted = set(read_samples()[name][:size])
    places = np.array([i for i, found in enumerate(series_fingerprints(dataset)) if found in wanted], dtype=int)
    if len(places) != size:
        raise EvaluationError(
            f"data set {name}: of the {size:,} series of the committed figures, this copy has {len(places):,}"
        )
    return dataset.take(places)


def committed_row(model: str, dataset: Dataset, by: Yardsticks) -> dict[str, Any]:
    """The committed figures of a statistical model on these very series.

    Of a whole data set, another copy will do if it is one but for digits, and the row says so.
    """
    table = read_published(STATISTICAL)
    table = table[table["dataset"] == dataset.info.name]
    rows = table[table["model"] == model].set_index("series")
    if len(dataset) not in rows.index:
        there = f"of {' or '.join(f'{n:,}' for n in rows.index)} series" if len(rows) else "none"
        raise EvaluationError(
            f"model {model} on {dataset.info.name}: no committed figures of {len(dataset):,} series "
            f"(there are {there}); leave out --committed to fit it"
        )
    row = rows.loc[len(dataset)].to_dict() | {"series": len(dataset)}
    if row["data"] == fingerprint(dataset):
        return row | {"source": COMMITTED}
    naive = table[(table["model"] == "seasonal_naive") & (table["series"] == len(dataset))]
    here = {
        "mase": metrics.mase(dataset.future, by.last_season, by.scales).value(),
        "nd": metrics.nd(dataset.future, by.last_season).value(),
    }
    same = len(naive) and all(abs(here[key] / naive[key].iloc[0] - 1) < CLOSE for key in here)
    if dataset.is_sample or not same:
        raise EvaluationError(
            f"model {model} on {dataset.info.name}: the committed figures are of other series than these; "
            "leave out --committed to fit it"
        )
    return row | {"source": f"{COMMITTED}, another copy"}
