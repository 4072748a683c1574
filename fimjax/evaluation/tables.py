"""The benchmark's table in other shapes: the paper's tables with ours beside, and a summary."""

import numpy as np
import pandas as pd

from fimjax.evaluation.published import MASE_TABLE, SCRPS_TABLE, SEEN, has_seen, read_published

FLAG = "†"
"""Marks figures of a model that saw the data set in training."""

PAPER = "paper: "


def wide(metrics: pd.DataFrame, column: str) -> pd.DataFrame:
    """One metric with a row for each data set and a column for each model, in order of appearance."""
    table = metrics.pivot(index="dataset", columns="model", values=column)
    return table.loc[metrics["dataset"].unique(), metrics["model"].unique()]


def beside_paper(metrics: pd.DataFrame, column: str, published: str) -> pd.DataFrame:
    """One of the paper's tables: our models, then the paper's columns; weighted and geometric means below.

    Cells are text: a sample's figure has its 95 % interval, and a model that saw the data set in training its flag.
    """
    ours = wide(metrics, column)
    theirs = read_published(published).set_index("dataset").reindex(ours.index).add_prefix(PAPER)
    table = pd.concat([ours, theirs], axis=1)
    seen = pd.concat([wide(metrics, "seen").astype(bool), seen_in_paper(theirs)], axis=1)
    text = table.map(lambda x: f"{x:.3f}" if np.isfinite(x) else "")
    if f"{column}_lo" in metrics:
        low, high = wide(metrics, f"{column}_lo"), wide(metrics, f"{column}_hi")
        bounds = " [" + low.map("{:.3f}".format) + ", " + high.map("{:.3f}".format) + "]"
        text[ours.columns] += bounds.where(low.notna(), "")
    text += seen.where(table.notna(), False).replace({True: FLAG, False: ""}).astype(str)
    common = table.dropna()  # not all of our data sets are in the paper
    weights = metrics.drop_duplicates("dataset").set_index("dataset")["population"].loc[common.index]
    if len(common):
        sicoum = common[f"{PAPER}sicoum"]
        text.loc["average, weighted by series"] = (
            common.mul(weights, axis=0).sum().div(weights.sum()).map("{:.3f}".format)
        )
        text.loc["geometric mean of ratios to the paper's SiCoUM"] = np.exp(
            np.log(common.div(sicoum, axis=0)).mean()
        ).map("{:.3f}".format)
        ahead = common.round(3).lt(sicoum, axis=0).sum()  # the paper's figures have three digits
        text.loc["data sets ahead of the paper's SiCoUM"] = ahead.map(lambda n: f"{n} of {len(common)}")
    return text.reset_index(names="dataset")


def seen_in_paper(theirs: pd.DataFrame) -> pd.DataFrame:
    """Which of the paper's models saw which data sets in training."""
    return pd.DataFrame(
        {c: [has_seen(SEEN.get(c.removeprefix(PAPER), ()), d) for d in theirs.index] for c in theirs.columns},
        index=theirs.index,
    )


def scrps_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """The paper's table 1."""
    return beside_paper(metrics, "scrps", SCRPS_TABLE)


def mase_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """The paper's table 4: errors over those of the last-value forecast, which is what reproduces its columns."""
    return beside_paper(metrics, "mase_pooled_naive", MASE_TABLE)


def summary(metrics: pd.DataFrame) -> pd.DataFrame:
    """One row a model: averages over the data sets that all models have, weighted by series; geometric means of ratios
    to SeasonalNaive and SiCoUM, where these take part; wins; calibration; time."""
    shared = wide(metrics, "scrps").dropna().index
    metrics = metrics[metrics["dataset"].isin(shared)]
    weights = metrics.drop_duplicates("dataset").set_index("dataset")["population"]
    table = pd.DataFrame(index=pd.Index(metrics["model"].unique(), name="model"))
    table["data sets"] = len(shared)
    table["seen"] = wide(metrics, "seen").sum().map(lambda n: f"{n:.0f}{FLAG}" if n else "0")
    for column in ("scrps", "mase", "mase_pooled", "smape"):
        values = wide(metrics, column)
        table[f"{column}, weighted"] = values.mul(weights, axis=0).sum(skipna=False) / weights.sum()
    for column in ("scrps", "mase"):
        values = wide(metrics, column)
        for reference in ("seasonal_naive", "sicoum"):
            if reference in values:
                ratios = values.div(values[reference], axis=0)
                table[f"{column} / {reference}"] = np.exp(np.log(ratios).mean())
    values = wide(metrics, "scrps")
    if "sicoum" in values:
        table["ahead of sicoum"] = values.lt(values["sicoum"], axis=0).sum()
    table["best"] = values.eq(values.min(axis=1), axis=0).sum()
    table["coverage difference"] = wide(metrics, "coverage_difference").mean()
    seconds, series = wide(metrics, "wall_seconds").sum(), wide(metrics, "series").sum()
    table["wall seconds"] = seconds
    table["series per second"] = series / seconds
    return table.reset_index()
