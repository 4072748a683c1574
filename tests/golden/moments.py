"""Statistics of a batch of synthetic series, to compare two versions of the prior.

`series_statistics` works on plain arrays. `summarise` takes deciles over series, and `disagreement` compares another
batch with them.
"""

import numpy as np

DECILES = np.arange(1, 10) / 10
ROUNDING = 1e-5
"""Statistics this close count as equal: what is zero in one program may be float32 rounding in another."""

STATISTICS = (
    "valid_share",  # slots of the context that hold a step of the history, of all its slots
    "observed_share",  # observed slots, of those that are valid in the context
    "target_observed_share",  # the same in the target window
    "history",  # valid slots in the context
    "irregular",  # 1 if a valid time is not a whole number
    "roughness",  # log of the deviation of the differences of successive observed values over the values' own
    "lag_1",  # autocorrelation of successive observed values
    "lag_season",  # autocorrelation of observed values a reported season apart, by rounded times; NaN without one
    "window_steps",
    "season",  # as reported
    "drift",  # last observed value minus the first, in deviations
    "skewness",
    "kurtosis",  # 3 for a normal distribution
    "whole_share",  # observed values that are whole numbers
    "floor_known",  # 1 if a floor is reported
    "floor_distance",  # log1p of the lowest observed value minus the reported floor, in deviations
    "target_spread",  # log of the deviation of the target's noisy values over the context's
    "target_jump",  # first noisy value of the target minus the last observed one, in deviations
    "target_distance",  # mean noisy value of the target minus the context's, in deviations
    "noise",  # deviation of noisy minus clean over the valid slots of the context, in deviations
)
"""Deviations are standard deviations of the observed values in the context. NaN where there are too few values."""


def series_statistics(
    times: np.ndarray,
    noisy: np.ndarray,
    clean: np.ndarray,
    observed: np.ndarray,
    valid: np.ndarray,
    steps: np.ndarray,
    season: np.ndarray,
    floor: np.ndarray,
) -> np.ndarray:
    """The statistics of each of B series: [B, len(STATISTICS)].

    Args:
        times, noisy, clean, observed, valid: [B, K, T]; the last window is the target, the others are the context, in
            the order of time. Times are in steps; observed slots are valid.
        steps, season, floor: [B]; window steps, the reported season (1 = none), the reported floor (-inf = none).
    """
    count = len(times)
    context = [np.asarray(x)[:, :-1].reshape(count, -1) for x in (times, noisy, clean, observed, valid)]
    target = [np.asarray(x)[:, -1] for x in (times, noisy, clean, observed, valid)]
    rest = [np.asarray(x, np.float64) for x in (steps, season, floor)]
    with np.errstate(all="ignore"):
        rows = [_one_series(*each) for each in zip(zip(*context), zip(*target), *rest)]
    return np.where(np.isfinite(rows), rows, np.nan)


def summarise(statistics: np.ndarray) -> dict[str, np.ndarray]:
    """Deciles [S, 9], means [S] and numbers [S] of the finite statistics, and how many series there are."""
    columns = [x[np.isfinite(x)] for x in statistics.T]
    none = np.full(len(DECILES), np.nan)
    return {
        "deciles": np.array([np.quantile(x, DECILES, method="inverted_cdf") if len(x) else none for x in columns]),
        "means": np.array([x.mean() if len(x) else np.nan for x in columns]),
        "finite": np.array([len(x) for x in columns]),
        "series": np.array(len(statistics)),
    }


def disagreement(summary: dict[str, np.ndarray], statistics: np.ndarray) -> dict[str, float]:
    """How far a batch [B, S] is from the summary of another, for each statistic, in standard errors.

    It is the largest difference, over the deciles, between the share of the batch below a decile and the expected
    share. Equal distributions rarely exceed 4; in hundreds of comparisons, 5.
    """
    found, series = {}, len(statistics)
    for i, name in enumerate(STATISTICS):
        x, old = statistics[np.isfinite(statistics[:, i]), i], int(summary["finite"][i])
        shares = np.array([old / int(summary["series"]), len(x) / series])
        pooled = np.clip(shares.mean(), 0.5 / series, 1 - 0.5 / series)
        worst = abs(shares[0] - shares[1]) / np.sqrt(pooled * (1 - pooled) * (1 / int(summary["series"]) + 1 / series))
        if old and len(x):
            below = np.array([np.mean(x < q - ROUNDING) for q in summary["deciles"][i]])
            up_to = np.array([np.mean(x <= q + ROUNDING) for q in summary["deciles"][i]])
            off = np.maximum(np.maximum(below - DECILES, DECILES - up_to), 0.0)
            off = np.maximum(off - 1 / old, 0.0)  # a decile of a few values is one of them
            worst = max(worst, np.max(off / np.sqrt(DECILES * (1 - DECILES) * (1 / old + 1 / len(x)))))
        found[name] = float(worst)
    return found


def _one_series(context: tuple, target: tuple, steps: float, season: float, floor: float) -> list[float]:
    times, noisy, clean, observed, valid = context
    t, x = times[observed].astype(np.float64), noisy[observed].astype(np.float64)
    ahead = target[1][target[4]].astype(np.float64)
    off = times[valid] - np.round(times[valid])
    deviation = x.std() if len(x) > 1 and x.std() > 1e-6 * np.abs(x).max() else np.nan
    centred = (x - x.mean()) / deviation if len(x) else x
    noise = (noisy - clean)[valid].astype(np.float64)
    return [
        valid.mean(),
        observed.sum() / valid.sum() if valid.any() else np.nan,
        target[3].sum() / target[4].sum(),
        valid.sum(),
        float(np.any(np.abs(off) > 1e-4)),
        np.log(np.diff(x).std() / deviation) if len(x) >= 4 else np.nan,
        np.mean(centred[1:] * centred[:-1]) if len(x) >= 4 else np.nan,
        _lagged(np.round(t).astype(int), centred, int(season)) if season > 1 else np.nan,
        steps,
        season,
        centred[-1] - centred[0] if len(x) >= 2 else np.nan,
        np.mean(centred**3) if len(x) >= 8 else np.nan,
        np.mean(centred**4) if len(x) >= 8 else np.nan,
        np.mean(x == np.round(x)) if len(x) else np.nan,
        float(np.isfinite(floor)),
        np.log1p((x.min() - floor) / deviation) if len(x) else np.nan,
        np.log(ahead.std() / deviation),
        (ahead[0] - x[-1]) / deviation if len(x) else np.nan,
        (ahead.mean() - x.mean()) / deviation if len(x) else np.nan,
        noise.std() / deviation if len(noise) else np.nan,
    ]


def _lagged(t: np.ndarray, centred: np.ndarray, lag: int) -> float:
    """The mean product of values that are a lag apart; NaN with fewer than four pairs."""
    if len(t) < 4 or t[-1] - t[0] < lag:
        return np.nan
    by_time = np.full(t[-1] - t[0] + 1, np.nan)
    by_time[t - t[0]] = centred
    products = by_time[lag:] * by_time[:-lag]
    products = products[np.isfinite(products)]
    return products.mean() if len(products) >= 4 else np.nan
