"""The verdict: what a model's figures come to, beside those that others have published."""

from collections.abc import Callable

import pandas as pd

from fimjax.evaluation.baselines.statistical import COMBINED, SINGLE
from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.metrics import geometric_mean
from fimjax.evaluation.published import FEV, MASE_TABLE, SCRPS_TABLE, read_published
from fimjax.evaluation.report.tables import FLAG, wide

Together = Callable[[pd.DataFrame, pd.Series], pd.Series]
"""How figures, a row a data set and a column a model, and what they are held against come to one text a model."""

RIVALS = {"sicoum": "SiCoUM", "arima": "ARIMA", "best_cftl": "best network (best_cftl)"}
"""Columns of the paper's table 1 that a model may be ahead of, and what they are called here."""

M4 = tuple(name for name, info in CATALOG.items() if info.competition == "m4")
"""All six frequencies of M4."""


def verdict(metrics: pd.DataFrame) -> pd.DataFrame:
    """One row a measure, one column a model that is not a statistical one.

    A measure is over those of its data sets that the run has, and says how many these are and how many are samples.
    It is left out where there is none, and the total of M4 where one of the six is missing. Cells are text: a model
    that saw one of the data sets in training has its flag.
    """
    mine = metrics[~metrics["model"].isin([*SINGLE, *COMBINED])]
    if mine.empty:
        return pd.DataFrame()
    scrps, mase = (read_published(name).set_index("dataset") for name in (SCRPS_TABLE, MASE_TABLE))
    naive, populations = seasonal_naive(metrics), mine.drop_duplicates("dataset").set_index("dataset")["population"]
    rows = [measure("sCRPS / the paper's SiCoUM", mine, "scrps", scrps["sicoum"], mean_ratio)]
    for column, name in RIVALS.items():
        rows.append(measure(f"sCRPS below the paper's {name}", mine, "scrps", scrps[column], count_below))
    rows += [
        # Over the last-value forecast, which is what reproduces the paper's columns: see `mase_table`.
        measure("pooled MASE / the paper's SiCoUM", mine, "mase_pooled_naive", mase["sicoum"], mean_ratio),
        measure("MASE / SeasonalNaive", mine, "mase", naive["mase"], mean_ratio),
        measure("WQL / SeasonalNaive with intervals", mine, "scrps", naive["scrps"], mean_ratio),
        measure("WQL / SeasonalNaive without, as in fev", mine, "scrps", naive["nd"], mean_ratio),
    ]
    for interval in (80, 95):
        nominal = pd.Series(interval / 100, index=[*CATALOG])
        rows.append(
            measure(f"{interval} % interval, off coverage", mine, f"coverage_{interval}", nominal, mean_distance)
        )
    if wide(mine, "mase").reindex(M4).notna().all(axis=None):
        rows.append(measure("M4 total MASE", mine, "mase", populations.reindex(M4), weighted_mean))
    return pd.DataFrame([row for row in rows if row])


def verdict_note(metrics: pd.DataFrame) -> str:
    """How to read the verdict, and whose SeasonalNaive it has."""
    if "seasonal_naive" in set(metrics["model"]):
        naive = "SeasonalNaive is that of this run, with its intervals and, as fev has it, by its points alone."
    else:
        naive = "SeasonalNaive is that of fev's published figures, whose WQL is that of its points alone."
    return (
        "Ratios are geometric means over data sets; below 1 is better. Counts are of data sets, to the paper's three "
        "digits. Off coverage is the mean over data sets of |coverage - nominal|. The total of M4 is weighted by "
        f"series. WQL is sCRPS by another name. {naive} The paper and fev have another copy of Tourism yearly than the "
        f"competition's. {FLAG} marks models that saw one of the data sets in training."
    )


def seasonal_naive(metrics: pd.DataFrame) -> pd.DataFrame:
    """SeasonalNaive's mase, scrps and nd on the data sets of fev: from the run, else what fev published.

    fev's SeasonalNaive has no width, so its WQL is ND; what it has with intervals was not published.
    """
    fev = read_published(FEV)
    run = metrics[metrics["model"] == "seasonal_naive"]
    if run.empty:
        run = fev[fev["model"] == "seasonal_naive"].rename(columns={"wql": "nd"})
    return run.set_index("dataset").reindex(index=fev["dataset"].unique(), columns=["mase", "scrps", "nd"])


def measure(
    name: str, mine: pd.DataFrame, column: str, against: pd.Series, together: Together
) -> dict[str, str] | None:
    """One row of the verdict; None where the run has none of the data sets.

    Args:
        mine: the benchmark's table, of the models that are judged.
        column: which of their figures.
        against: by data set, for all data sets of the measure, what these are held against.
        together: makes one figure of them.
    """
    figures = wide(mine, column).reindex(against.index).dropna()  # on the data sets that all models have
    figures = figures[against.reindex(figures.index).notna()]
    if figures.empty:
        return None
    rows = mine[mine["dataset"].isin(figures.index)]
    sampled = rows.loc[rows["series"] < rows["population"], "dataset"].nunique()
    texts = together(figures, against[figures.index])
    flags = wide(rows, "seen").eq(True).any().map({True: FLAG, False: ""})
    said = f"{len(figures)} of {len(against)}" + (f", {sampled} sampled" if sampled else "")
    return {"measure": name, "data sets": said, **(texts + flags)}


def mean_ratio(figures: pd.DataFrame, against: pd.Series) -> pd.Series:
    """The geometric mean of ratios."""
    return geometric_mean(figures.div(against, axis=0), axis=0).map("{:.3f}".format)


def count_below(figures: pd.DataFrame, against: pd.Series) -> pd.Series:
    """On how many data sets a model is below, rounded as the published figures are: a tie is no win."""
    return figures.round(3).lt(against, axis=0).sum().map(lambda n: f"{n} of {len(figures)}")


def mean_distance(figures: pd.DataFrame, against: pd.Series) -> pd.Series:
    """The mean of absolute differences."""
    return figures.sub(against, axis=0).abs().mean().map("{:.3f}".format)


def weighted_mean(figures: pd.DataFrame, weights: pd.Series) -> pd.Series:
    """The mean with these weights."""
    return figures.mul(weights, axis=0).sum().div(weights.sum()).map("{:.3f}".format)
