"""All scores of one model on one data set."""

import dataclasses

import numpy as np

from fimjax.evaluation import metrics
from fimjax.evaluation.baselines.naive import forecast_all, last_season, last_value, naive2
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.datasets.sampling import resampling_counts
from fimjax.evaluation.forecasts import INTERVALS, LEVELS, Forecasts, interval_indices
from fimjax.evaluation.metrics import SCORED, RatioOfSums

METRICS = (
    "scrps",
    "nd",
    "mase",
    "mase_pooled",
    "mase_pooled_naive",
    "smape",
    "owa",
    *(f"coverage_{i}" for i in INTERVALS),
    "width_80",
    "width_95",
    "coverage_difference",
)
"""Names of the scores, in the order of the columns of metrics.csv."""


@dataclasses.dataclass(frozen=True)
class References:
    """Naive forecasts and scales that scores are relative to, computed once a data set."""

    scales: np.ndarray  # [B], in-sample error of the seasonal naive forecast
    last_season: np.ndarray  # [B, h]
    last_value: np.ndarray  # [B, h]
    naive2: np.ndarray  # [B, h]
    counts: np.ndarray | None
    """[R, B], bootstrap resamples of a sample; None for a whole data set."""


def compute_references(dataset: Dataset, seed: int = 0) -> References:
    """Computes scales, naive forecasts and, for a sample, bootstrap resamples."""
    season, horizon = dataset.info.season, dataset.info.horizon
    return References(
        scales=metrics.naive_scales(dataset.histories, season),
        last_season=forecast_all(last_season, dataset.histories, season, horizon),
        last_value=forecast_all(last_value, dataset.histories, season, horizon),
        naive2=forecast_all(naive2, dataset.histories, season, horizon),
        counts=resampling_counts(len(dataset), seed) if dataset.is_sample else None,
    )


def score(
    dataset: Dataset, forecasts: Forecasts, references: References
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Computes every metric, and for a sample the 95 % bootstrap interval of each.

    Returns:
        Scores by name, with `<name>_lo` and `<name>_hi` for a sample; the scores of the resamples [R] by name, from
        which averages over several data sets get their intervals.
    """
    scores = _all_scores(dataset, forecasts, references, np.ones((1, len(dataset))))
    row = {name: float(values[0]) for name, values in scores.items()}
    row["zero_scales"] = int(np.sum(references.scales == 0))
    if references.counts is None:
        return row, {}
    resampled = _all_scores(dataset, forecasts, references, references.counts)
    for name, values in resampled.items():
        row[f"{name}_lo"], row[f"{name}_hi"] = bounds(values)
    return row, resampled


def bounds(values: np.ndarray) -> tuple[float, float]:
    """The central 95 % of the resampled scores; resamples without a defined score are ignored."""
    defined = values[np.isfinite(values)]
    low, high = np.quantile(defined, (0.025, 0.975)) if len(defined) else (np.nan, np.nan)
    return float(low), float(high)


def _all_scores(
    dataset: Dataset, forecasts: Forecasts, references: References, counts: np.ndarray
) -> dict[str, np.ndarray]:
    """Every metric [R], with each series counted as often as `counts` [R, B] says."""
    y, f, q = dataset.future, forecasts.point, forecasts.quantiles
    edges = {i: (q[..., low], q[..., high]) for i in INTERVALS for low, high in [interval_indices(i)]}

    def total(ratio: RatioOfSums) -> np.ndarray:
        return ratio.resampled(counts)

    scores = {
        "scrps": total(metrics.scrps(y, q[..., SCORED], tuple(LEVELS[i] for i in SCORED))),
        "nd": total(metrics.nd(y, f)),
        "mase": total(metrics.mase(y, f, references.scales)),
        "mase_pooled": total(metrics.mase_pooled(y, f, references.last_season)),
        "mase_pooled_naive": total(metrics.mase_pooled(y, f, references.last_value)),
        "smape": total(metrics.smape(y, f)),
    }
    with np.errstate(divide="ignore", invalid="ignore"):  # Naive2 has no error on flat series
        scores["owa"] = metrics.owa(
            scores["smape"],
            scores["mase"],
            total(metrics.smape(y, references.naive2)),
            total(metrics.mase(y, references.naive2, references.scales)),
        )
    coverages = {i: total(metrics.coverage(y, *edges[i])) for i in INTERVALS}
    scores |= {f"coverage_{i}": found for i, found in coverages.items()}
    scores |= {f"width_{i}": total(metrics.width(y, *edges[i])) for i in (80, 95)}
    return scores | {"coverage_difference": metrics.coverage_difference(coverages)}
