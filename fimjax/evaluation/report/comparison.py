"""Compares the models of a run with published scores, one row per measure."""

from collections.abc import Callable

import pandas as pd

from fimjax.evaluation.baselines.statistical import COMBINED, SINGLE
from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.metrics import geometric_mean
from fimjax.evaluation.published import FEV, MASE_TABLE, SCRPS_TABLE, read_published
from fimjax.evaluation.report.tables import FLAG, wide

Aggregate = Callable[[pd.DataFrame, pd.Series], pd.Series]
"""Turns scores (rows are data sets, columns are models) and reference scores (by data set) into one text a model."""

PAPER_MODELS = {"sicoum": "SiCoUM", "arima": "ARIMA", "best_cftl": "best network (best_cftl)"}
"""Columns of the paper's table 1 that models are compared with, and their names in our table."""

M4 = tuple(name for name, info in CATALOG.items() if info.competition == "m4")
"""All six data sets of M4."""


def compare_with_published(metrics: pd.DataFrame) -> pd.DataFrame:
    """Compares all models that are not statistical ones with published scores.

    A measure covers those of its data sets that the run has; the column `data sets` says how many these are and how
    many of them are samples. A measure without any data set is left out, and so is the total of M4 unless all six are
    there. Cells are text; a model that was trained on one of the data sets carries a flag.

    Returns:
        One row per measure, one column per model.
    """
    ours = metrics[~metrics["model"].isin([*SINGLE, *COMBINED])]
    if ours.empty:
        return pd.DataFrame()
    scrps, mase = (read_published(name).set_index("dataset") for name in (SCRPS_TABLE, MASE_TABLE))
    naive, populations = _seasonal_naive(metrics), ours.drop_duplicates("dataset").set_index("dataset")["population"]
    rows = [_measure("sCRPS / the paper's SiCoUM", ours, "scrps", scrps["sicoum"], _mean_ratio)]
    for column, name in PAPER_MODELS.items():
        rows.append(_measure(f"sCRPS below the paper's {name}", ours, "scrps", scrps[column], _count_below))
    rows += [
        # Relative to the last-value forecast, which reproduces the paper's columns: see `mase_table`.
        _measure("pooled MASE / the paper's SiCoUM", ours, "mase_pooled_naive", mase["sicoum"], _mean_ratio),
        _measure("MASE / SeasonalNaive", ours, "mase", naive["mase"], _mean_ratio),
        _measure("WQL / SeasonalNaive with intervals", ours, "scrps", naive["scrps"], _mean_ratio),
        _measure("WQL / SeasonalNaive without, as in fev", ours, "scrps", naive["nd"], _mean_ratio),
    ]
    for interval in (80, 95):
        nominal = pd.Series(interval / 100, index=[*CATALOG])
        name = f"{interval} % interval, coverage error"
        rows.append(_measure(name, ours, f"coverage_{interval}", nominal, _mean_distance))
    if wide(ours, "mase").reindex(M4).notna().all(axis=None):
        rows.append(_measure("M4 total MASE", ours, "mase", populations.reindex(M4), _weighted_mean))
    return pd.DataFrame([row for row in rows if row])


def comparison_note(metrics: pd.DataFrame) -> str:
    """Explains the comparison, and where its SeasonalNaive comes from."""
    if "seasonal_naive" in set(metrics["model"]):
        naive = "SeasonalNaive is from this run: with its intervals, and as a point forecast as in fev."
    else:
        naive = "SeasonalNaive is from fev's published scores, whose WQL is that of a point forecast."
    return (
        "Ratios are geometric means over data sets; below 1 is better. Counts are numbers of data sets, after rounding "
        "to the paper's three digits. Coverage error is the mean over data sets of |coverage - nominal|. The total of "
        f"M4 is weighted by series. WQL is another name for sCRPS. {naive} The paper and fev use another copy of "
        f"Tourism yearly than the competition's. {FLAG} marks models that were trained on one of the data sets."
    )


def _seasonal_naive(metrics: pd.DataFrame) -> pd.DataFrame:
    """SeasonalNaive's mase, scrps and nd on fev's data sets: from the run, or else as fev published them.

    fev's SeasonalNaive has no intervals, so its WQL is ND, and its sCRPS with intervals is unknown.
    """
    fev = read_published(FEV)
    run = metrics[metrics["model"] == "seasonal_naive"]
    if run.empty:
        run = fev[fev["model"] == "seasonal_naive"].rename(columns={"wql": "nd"})
    return run.set_index("dataset").reindex(index=fev["dataset"].unique(), columns=["mase", "scrps", "nd"])


def _measure(
    name: str, ours: pd.DataFrame, column: str, reference: pd.Series, aggregate: Aggregate
) -> dict[str, str] | None:
    """Computes one row; None if the run has none of the data sets.

    Args:
        ours: metrics of the models to compare.
        column: the metric.
        reference: reference score of every data set of the measure.
        aggregate: computes the cells.
    """
    scores = wide(ours, column).reindex(reference.index).dropna()  # on the data sets that all models have
    scores = scores[reference.reindex(scores.index).notna()]
    if scores.empty:
        return None
    rows = ours[ours["dataset"].isin(scores.index)]
    sampled = rows.loc[rows["series"] < rows["population"], "dataset"].nunique()
    texts = aggregate(scores, reference[scores.index])
    flags = wide(rows, "trained_on").eq(True).any().map({True: FLAG, False: ""})
    coverage = f"{len(scores)} of {len(reference)}" + (f", {sampled} sampled" if sampled else "")
    return {"measure": name, "data sets": coverage, **(texts + flags)}


def _mean_ratio(scores: pd.DataFrame, reference: pd.Series) -> pd.Series:
    """Geometric mean of the ratios to the reference."""
    return geometric_mean(scores.div(reference, axis=0), axis=0).map("{:.3f}".format)


def _count_below(scores: pd.DataFrame, reference: pd.Series) -> pd.Series:
    """Number of data sets with a score below the reference, rounded like published scores; ties do not count."""
    return scores.round(3).lt(reference, axis=0).sum().map(lambda n: f"{n} of {len(scores)}")


def _mean_distance(scores: pd.DataFrame, reference: pd.Series) -> pd.Series:
    """Mean absolute difference from the reference."""
    return scores.sub(reference, axis=0).abs().mean().map("{:.3f}".format)


def _weighted_mean(scores: pd.DataFrame, weights: pd.Series) -> pd.Series:
    """Weighted mean of the scores."""
    return scores.mul(weights, axis=0).sum().div(weights.sum()).map("{:.3f}".format)
