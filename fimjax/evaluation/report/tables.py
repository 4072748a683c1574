"""The benchmark's table in other shapes: the paper's tables with ours beside, and a summary."""

import numpy as np
import pandas as pd

from fimjax.evaluation.metrics import geometric_mean
from fimjax.evaluation.published import MASE_TABLE, SCRPS_TABLE, SEEN, has_seen, read_published
from fimjax.evaluation.scoring import bounds

Resampled = dict[tuple[str, str], dict[str, np.ndarray]]
"""By data set and model, the figures of a sample's bootstrap resamples."""

FLAG = "†"
"""Marks figures of a model that saw the data set in training."""

PAPER = "paper: "


def wide(metrics: pd.DataFrame, column: str) -> pd.DataFrame:
    """One metric with a row for each data set and a column for each model, in order of appearance."""
    table = metrics.pivot(index="dataset", columns="model", values=column)
    return table.loc[metrics["dataset"].unique(), metrics["model"].unique()]


def beside_paper(metrics: pd.DataFrame, column: str, published: str) -> pd.DataFrame:
    """One of the paper's tables: our models, then the paper's columns; weighted and geometric means below.

    Cells are text: a sample's figure has its 95 % interval, and a model that saw the data set in training its flag, as
    has a mean over such data sets.
    """
    ours = wide(metrics, column)
    theirs = read_published(published).set_index("dataset").reindex(ours.index).add_prefix(PAPER)
    table = pd.concat([ours, theirs], axis=1)
    seen = pd.concat([wide(metrics, "seen").eq(True), seen_in_paper(theirs)], axis=1) & table.notna()
    text = table.map(lambda x: f"{x:.3f}" if np.isfinite(x) else "")
    if f"{column}_lo" in metrics:
        low, high = wide(metrics, f"{column}_lo"), wide(metrics, f"{column}_hi")
        interval = " [" + low.map("{:.3f}".format) + ", " + high.map("{:.3f}".format) + "]"
        text[ours.columns] += interval.where(low.notna(), "")
    text += seen.replace({True: FLAG, False: ""}).astype(str)
    text.insert(0, "series", [describe_series(metrics, name) for name in text.index])

    common = table.dropna()  # not all of our data sets are in the paper, nor all models on all of them
    if len(common):
        weights = metrics.drop_duplicates("dataset").set_index("dataset")["population"].loc[common.index]
        sicoum, flags = common[f"{PAPER}sicoum"], seen.loc[common.index].any().map({True: FLAG, False: ""})
        below = {
            "average, weighted by series": common.mul(weights, axis=0).sum().div(weights.sum()).map("{:.3f}".format),
            "geometric mean of ratios to the paper's SiCoUM": np.exp(np.log(common.div(sicoum, axis=0)).mean()).map(
                "{:.3f}".format
            ),
            # The paper's figures have three digits.
            "data sets ahead of the paper's SiCoUM": common.round(3).lt(sicoum, axis=0).sum().map("{:.0f}".format),
        }
        for name, values in below.items():
            text.loc[name] = values + flags
            text.loc[name, "series"] = f"{len(common)} data set{'s' * (len(common) > 1)}"
    return text.reset_index(names="dataset")


def describe_series(metrics: pd.DataFrame, dataset: str) -> str:
    """How many series of a data set the figures are of: all, or a sample."""
    row = metrics[metrics["dataset"] == dataset].iloc[0]
    return f"{row['series']:,.0f}" + (f" of {row['population']:,.0f}" if row["series"] < row["population"] else "")


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


def summary(metrics: pd.DataFrame, resampled: Resampled | None = None) -> pd.DataFrame:
    """One row a model: averages over the data sets that all models have, weighted by series; geometric means of ratios
    to SeasonalNaive and SiCoUM, where these take part; wins; calibration; time.

    Args:
        resampled: figures of bootstrap resamples; with those of all samples at hand, averages and ratios have bounds.
    """
    shared = wide(metrics, "scrps").dropna().index
    metrics = metrics[metrics["dataset"].isin(shared)]
    weights = metrics.drop_duplicates("dataset").set_index("dataset")["population"].to_numpy(float)
    models = list(metrics["model"].unique())
    table = pd.DataFrame(index=pd.Index(models, name="model"))
    table["data sets"] = len(shared)
    table["seen"] = wide(metrics, "seen").eq(True).sum().map(lambda n: f"{n:.0f}{FLAG}" if n else "0")
    for column in ("scrps", "mase", "mase_pooled", "smape"):
        table[f"{column}, weighted"] = np.einsum("dm,d->m", wide(metrics, column), weights) / weights.sum()
        draws = draw(metrics, column, resampled)
        if draws is not None:
            averages = np.einsum("rdm,d->rm", draws, weights) / weights.sum()
            add_bounds(table, f"{column}, weighted", averages)
    for column in ("scrps", "mase"):
        for reference in (name for name in ("seasonal_naive", "sicoum") if name in models):
            values, place = wide(metrics, column).to_numpy(), models.index(reference)
            table[f"{column} / {reference}"] = geometric_mean(values / values[:, [place]], axis=0)
            draws = draw(metrics, column, resampled)
            if draws is not None:
                ratios = geometric_mean(draws / draws[:, :, [place]], axis=1)
                add_bounds(table, f"{column} / {reference}", ratios)
    values = wide(metrics, "scrps")
    if "sicoum" in values:
        table["ahead of sicoum"] = values.lt(values["sicoum"], axis=0).sum()
    table["best"] = values.eq(values.min(axis=1), axis=0).sum()
    table["coverage difference"] = wide(metrics, "coverage_difference").mean()
    seconds, series = wide(metrics, "wall_seconds").sum(), wide(metrics, "series").sum()
    table["wall seconds"] = seconds
    table["series per second"] = series / seconds
    return table.reset_index()


def draw(metrics: pd.DataFrame, column: str, resampled: Resampled | None) -> np.ndarray | None:
    """A metric in every bootstrap resample, [R, data sets, models]; None if there is no sample, or one without them.

    All models have the same resamples of a data set, so that ratios of two models' figures are resampled as pairs.
    """
    sampled = metrics["series"] < metrics["population"]
    known = [(resampled or {}).get(key) for key in zip(metrics["dataset"], metrics["model"])]
    if not sampled.any() or any(s and not k for s, k in zip(sampled, known)):
        return None
    repeats = max(len(k[column]) for k in known if k)
    columns = [k[column] if k else np.full(repeats, value) for k, value in zip(known, metrics[column])]
    order = pd.MultiIndex.from_product([metrics["dataset"].unique(), metrics["model"].unique()])
    places = pd.MultiIndex.from_frame(metrics[["dataset", "model"]]).get_indexer(order)
    shape = (metrics["dataset"].nunique(), metrics["model"].nunique(), repeats)
    return np.moveaxis(np.stack(columns)[places].reshape(shape), -1, 0)


def add_bounds(table: pd.DataFrame, column: str, draws: np.ndarray) -> None:
    """Adds the 95 % bounds of a column from its resamples [R, models]."""
    found = np.array([bounds(values) for values in draws.T])
    table[f"{column}, lo"], table[f"{column}, hi"] = found[:, 0], found[:, 1]
