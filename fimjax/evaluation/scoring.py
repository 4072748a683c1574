"""All figures of one model on one data set, as a row of the benchmark's table."""

import dataclasses

import numpy as np

from fimjax.evaluation import metrics
from fimjax.evaluation.baselines.naive import forecast_all, last_season, last_value, naive2
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.datasets.sampling import resampling_counts
from fimjax.evaluation.forecasts import INTERVALS, LEVELS, Forecasts, interval_indices
from fimjax.evaluation.metrics import SCORED, Shares


@dataclasses.dataclass(frozen=True)
class Yardsticks:
    """What the figures of a data set are measured by, worked out once for all models."""

    scales: np.ndarray  # [N], in-sample error of the seasonal naive forecast
    last_season: np.ndarray  # [N, h]
    last_value: np.ndarray  # [N, h]
    naive2: np.ndarray  # [N, h]
    counts: np.ndarray | None
    """[R, N], bootstrap resamples; None where the whole data set is at hand."""


def reference_scores(dataset: Dataset, seed: int = 0) -> Yardsticks:
    """Scales and naive forecasts of a data set."""
    season, horizon = dataset.info.season, dataset.info.horizon
    return Yardsticks(
        scales=metrics.naive_scales(dataset.histories, season),
        last_season=forecast_all(last_season, dataset.histories, season, horizon),
        last_value=forecast_all(last_value, dataset.histories, season, horizon),
        naive2=forecast_all(naive2, dataset.histories, season, horizon),
        counts=resampling_counts(len(dataset), seed) if dataset.is_sample else None,
    )


def score(dataset: Dataset, forecasts: Forecasts, by: Yardsticks) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Every metric by name, and for a sample `<name>_lo` and `<name>_hi`, the bounds of its 95 % bootstrap interval.

    Returns:
        The figures, and those of the resamples, by which figures over several data sets get their intervals.
    """
    figures = _figures(dataset, forecasts, by, np.ones((1, len(dataset))))
    row = {name: float(values[0]) for name, values in figures.items()} | {"zero_scales": int(np.sum(by.scales == 0))}
    if by.counts is None:
        return row, {}
    resampled = _figures(dataset, forecasts, by, by.counts)
    for name, values in resampled.items():
        row[f"{name}_lo"], row[f"{name}_hi"] = bounds(values)
    return row, resampled


def bounds(values: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of a figure's resamples, of those for which it is defined."""
    defined = values[np.isfinite(values)]
    low, high = np.quantile(defined, (0.025, 0.975)) if len(defined) else (np.nan, np.nan)
    return float(low), float(high)


def _figures(dataset: Dataset, forecasts: Forecasts, by: Yardsticks, counts: np.ndarray) -> dict[str, np.ndarray]:
    """Every metric, once for each row of `counts` [R, N]: how often each series is counted."""
    y, f, q = dataset.future, forecasts.point, forecasts.quantiles
    edges = {i: (q[..., low], q[..., high]) for i in INTERVALS for low, high in [interval_indices(i)]}

    def total(shares: Shares) -> np.ndarray:
        return shares.resampled(counts)

    figures = {
        "scrps": total(metrics.scrps(y, q[..., SCORED], tuple(LEVELS[i] for i in SCORED))),
        "nd": total(metrics.nd(y, f)),
        "mase": total(metrics.mase(y, f, by.scales)),
        "mase_pooled": total(metrics.mase_pooled(y, f, by.last_season)),
        "mase_pooled_naive": total(metrics.mase_pooled(y, f, by.last_value)),
        "smape": total(metrics.smape(y, f)),
    }
    with np.errstate(divide="ignore", invalid="ignore"):  # Naive2 may be perfect, on a few flat series
        figures["owa"] = metrics.owa(
            figures["smape"],
            figures["mase"],
            total(metrics.smape(y, by.naive2)),
            total(metrics.mase(y, by.naive2, by.scales)),
        )
    coverages = {i: total(metrics.coverage(y, *edges[i])) for i in INTERVALS}
    figures |= {f"coverage_{i}": found for i, found in coverages.items()}
    figures |= {f"width_{i}": total(metrics.width(y, *edges[i])) for i in (80, 95)}
    return figures | {"coverage_difference": metrics.coverage_difference(coverages)}


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
"""Names of the figures, in the order of the table's columns."""
