"""Scores of the statistical models that ship with fimjax, and the series that they were computed on."""

from typing import Any

import numpy as np

from fimjax.errors import EvaluationError
from fimjax.evaluation import metrics
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import fingerprint, series_fingerprints
from fimjax.evaluation.published import BUNDLED_SCORES, STATISTICAL, read_published, read_samples
from fimjax.evaluation.scoring import References

TOLERANCE = 0.005
"""Largest relative difference of SeasonalNaive's scores between two copies of a data set that differ by rounding."""


def bundled_series(dataset: Dataset, models: list[str]) -> Dataset:
    """The largest sample of a data set on which all these models have bundled scores."""
    name = dataset.info.name
    table = read_published(STATISTICAL)
    table = table[(table["dataset"] == name) & table["model"].isin(models)]
    sizes = table.groupby("series")["model"].nunique()
    sizes = sizes.index[sizes == len(models)]
    if not len(sizes):
        raise EvaluationError(f"data set {name}: {', '.join(models)} have no bundled scores on the same series")
    size = int(sizes.max())
    if size == table["population"].max():
        return dataset
    wanted = set(read_samples()[name][:size])
    places = np.array([i for i, found in enumerate(series_fingerprints(dataset)) if found in wanted], dtype=int)
    if len(places) != size:
        raise EvaluationError(
            f"data set {name}: this copy has {len(places):,} of the {size:,} series of the bundled scores"
        )
    return dataset.take(places)


def bundled_row(model: str, dataset: Dataset, references: References) -> dict[str, Any]:
    """The bundled scores of a statistical model on exactly these series.

    For a whole data set, a copy that differs only by rounding is accepted, and `source` says so.
    """
    table = read_published(STATISTICAL)
    table = table[table["dataset"] == dataset.info.name]
    rows = table[table["model"] == model].set_index("series")
    if len(dataset) not in rows.index:
        sizes = " or ".join(f"{n:,}" for n in rows.index)
        known = f"there are some on {sizes} series" if sizes else "there are none"
        raise EvaluationError(
            f"model {model} on {dataset.info.name}: no bundled scores on {len(dataset):,} series ({known}); "
            "leave out --bundled-scores to fit the model"
        )
    row = rows.loc[len(dataset)].to_dict() | {"series": len(dataset)}
    if row["data"] == fingerprint(dataset):
        return row | {"source": BUNDLED_SCORES}
    naive = table[(table["model"] == "seasonal_naive") & (table["series"] == len(dataset))]
    here = {
        "mase": metrics.mase(dataset.future, references.last_season, references.scales).value(),
        "nd": metrics.nd(dataset.future, references.last_season).value(),
    }
    same = len(naive) and all(abs(here[key] / naive[key].iloc[0] - 1) < TOLERANCE for key in here)
    if dataset.is_sample or not same:
        raise EvaluationError(
            f"model {model} on {dataset.info.name}: the bundled scores were computed on other series; "
            "leave out --bundled-scores to fit the model"
        )
    return row | {"source": f"{BUNDLED_SCORES}, other copy"}
