"""Tables of a run: the paper's tables extended by our models, and a summary."""

import numpy as np
import pandas as pd

from fimjax.evaluation.metrics import geometric_mean
from fimjax.evaluation.published import MASE_TABLE, SCRPS_TABLE, TRAINED_ON, is_trained_on, read_published
from fimjax.evaluation.scoring import bounds

Resampled = dict[tuple[str, str], dict[str, np.ndarray]]
"""Scores of a sample's bootstrap resamples [R] by metric; by data set and model."""

FLAG = "†"
"""Marks scores of a model that was trained on the data set."""

PAPER = "paper: "
"""Prefix of the columns with the paper's scores."""


def wide(metrics: pd.DataFrame, column: str) -> pd.DataFrame:
    """Pivots one metric: a row per data set, a column per model, in order of appearance."""
    table = metrics.pivot(index="dataset", columns="model", values=column)
    return table.loc[metrics["dataset"].unique(), metrics["model"].unique()]


def extend_paper_table(metrics: pd.DataFrame, column: str, published: str) -> pd.DataFrame:
    """One of the paper's tables: our models, then the paper's; weighted and geometric means in the last rows.

    Cells are text. Scores of a sample have a 95 % interval. Scores of a model that was trained on the data set carry a
    flag, and so do means over such data sets.
    """
    ours = wide(metrics, column)
    theirs = read_published(published).set_index("dataset").reindex(ours.index).add_prefix(PAPER)
    table = pd.concat([ours, theirs], axis=1)
    trained_on = pd.concat([wide(metrics, "trained_on").eq(True), _trained_on_in_paper(theirs)], axis=1)
    flagged = trained_on & table.notna()
    text = table.map(lambda x: f"{x:.3f}" if np.isfinite(x) else "")
    if f"{column}_lo" in metrics:
        low, high = wide(metrics, f"{column}_lo"), wide(metrics, f"{column}_hi")
        interval = " [" + low.map("{:.3f}".format) + ", " + high.map("{:.3f}".format) + "]"
        text[ours.columns] += interval.where(low.notna(), "")
    text += flagged.replace({True: FLAG, False: ""}).astype(str)
    text.insert(0, "series", [_describe_series(metrics, name) for name in text.index])

    common = table.dropna()  # not all of our data sets are in the paper, nor all models on all of them
    if len(common):
        weights = metrics.drop_duplicates("dataset").set_index("dataset")["population"].loc[common.index]
        sicoum, flags = common[f"{PAPER}sicoum"], flagged.loc[common.index].any().map({True: FLAG, False: ""})
        below = {
            "average, weighted by series": common.mul(weights, axis=0).sum().div(weights.sum()).map("{:.3f}".format),
            "geometric mean of ratios to the paper's SiCoUM": np.exp(np.log(common.div(sicoum, axis=0)).mean()).map(
                "{:.3f}".format
            ),
            # The paper rounds to three digits.
            "data sets ahead of the paper's SiCoUM": common.round(3).lt(sicoum, axis=0).sum().map("{:.0f}".format),
        }
        for name, values in below.items():
            text.loc[name] = values + flags
            text.loc[name, "series"] = f"{len(common)} data set{'s' * (len(common) > 1)}"
    return text.reset_index(names="dataset")


def _describe_series(metrics: pd.DataFrame, dataset: str) -> str:
    """Number of series behind the scores of a data set: all, or a sample."""
    row = metrics[metrics["dataset"] == dataset].iloc[0]
    return f"{row['series']:,.0f}" + (f" of {row['population']:,.0f}" if row["series"] < row["population"] else "")


def _trained_on_in_paper(theirs: pd.DataFrame) -> pd.DataFrame:
    """Whether the paper's models (columns) were trained on the data sets (rows)."""
    return pd.DataFrame(
        {
            column: [is_trained_on(TRAINED_ON.get(column.removeprefix(PAPER), ()), name) for name in theirs.index]
            for column in theirs.columns
        },
        index=theirs.index,
    )


def scrps_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """The paper's table 1, with our models."""
    return extend_paper_table(metrics, "scrps", SCRPS_TABLE)


def mase_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """The paper's table 4, with our models: errors relative to last-value forecasts, which reproduces its columns."""
    return extend_paper_table(metrics, "mase_pooled_naive", MASE_TABLE)


def summary(metrics: pd.DataFrame, resampled: Resampled | None = None) -> pd.DataFrame:
    """One row per model: averages, ratios, wins, coverage and time over the data sets that all models have.

    Averages are weighted by series. Ratios to SeasonalNaive and SiCoUM are geometric means, if these are in the run.

    Args:
        resampled: scores of bootstrap resamples; if all samples have them, averages and ratios get bounds.
    """
    shared = wide(metrics, "scrps").dropna().index
    metrics = metrics[metrics["dataset"].isin(shared)]
    weights = metrics.drop_duplicates("dataset").set_index("dataset")["population"].to_numpy(float)
    models = list(metrics["model"].unique())
    table = pd.DataFrame(index=pd.Index(models, name="model"))
    table["data sets"] = len(shared)
    table["trained on"] = wide(metrics, "trained_on").eq(True).sum().map(lambda n: f"{n:.0f}{FLAG}" if n else "0")
    for column in ("scrps", "mase", "mase_pooled", "smape"):
        table[f"{column}, weighted"] = np.einsum("dm,d->m", wide(metrics, column), weights) / weights.sum()
        draws = _resampled_scores(metrics, column, resampled)
        if draws is not None:
            averages = np.einsum("rdm,d->rm", draws, weights) / weights.sum()
            _add_bounds(table, f"{column}, weighted", averages)
    for column in ("scrps", "mase"):
        for reference in (name for name in ("seasonal_naive", "sicoum") if name in models):
            values, position = wide(metrics, column).to_numpy(), models.index(reference)
            table[f"{column} / {reference}"] = geometric_mean(values / values[:, [position]], axis=0)
            draws = _resampled_scores(metrics, column, resampled)
            if draws is not None:
                ratios = geometric_mean(draws / draws[:, :, [position]], axis=1)
                _add_bounds(table, f"{column} / {reference}", ratios)
    values = wide(metrics, "scrps")
    if "sicoum" in values:
        table["ahead of sicoum"] = values.lt(values["sicoum"], axis=0).sum()
    table["best"] = values.eq(values.min(axis=1), axis=0).sum()
    table["coverage difference"] = wide(metrics, "coverage_difference").mean()
    seconds, series = wide(metrics, "wall_seconds").sum(), wide(metrics, "series").sum()
    table["wall seconds"] = seconds
    table["series per second"] = series / seconds
    return table.reset_index()


def _resampled_scores(metrics: pd.DataFrame, column: str, resampled: Resampled | None) -> np.ndarray | None:
    """A metric in every bootstrap resample [R, data sets, models]; None without samples or without their resamples.

    All models share the resamples of a data set, so ratios of two models are resampled in pairs.
    """
    sampled = metrics["series"] < metrics["population"]
    known = [(resampled or {}).get(key) for key in zip(metrics["dataset"], metrics["model"])]
    if not sampled.any() or any(s and not k for s, k in zip(sampled, known)):
        return None
    repeats = max(len(k[column]) for k in known if k)
    columns = [k[column] if k else np.full(repeats, value) for k, value in zip(known, metrics[column])]
    order = pd.MultiIndex.from_product([metrics["dataset"].unique(), metrics["model"].unique()])
    positions = pd.MultiIndex.from_frame(metrics[["dataset", "model"]]).get_indexer(order)
    shape = (metrics["dataset"].nunique(), metrics["model"].nunique(), repeats)
    return np.moveaxis(np.stack(columns)[positions].reshape(shape), -1, 0)


def _add_bounds(table: pd.DataFrame, column: str, draws: np.ndarray) -> None:
    """Adds columns with the 95 % bounds of a column, from its resamples [R, models]."""
    found = np.array([bounds(values) for values in draws.T])
    table[f"{column}, lo"], table[f"{column}, hi"] = found[:, 0], found[:, 1]
