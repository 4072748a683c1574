"""The naive forecasts that other forecasts are measured by: last value, last season, and M4's Naive2."""

import numpy as np


def last_value(history: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """Repeats the last value: Naive1."""
    return np.repeat(history[-1], horizon)


def last_season(history: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """Repeats the last season; the last value, where there is no whole season yet."""
    if len(history) < season:
        return last_value(history, season, horizon)
    return np.resize(history[-season:], horizon)


def naive2(history: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """M4's Naive2: the last value of the seasonally adjusted series, with its season put back where there is one."""
    if not is_seasonal(history, season):
        return last_value(history, season, horizon)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = seasonal_factors(history, season)  # factors[k] belongs to the steps t with t % season == k
        steps = np.arange(len(history), len(history) + horizon) % season
        forecast = history[-1] / factors[(len(history) - 1) % season] * factors[steps]
    # Ratios to a trend of 0, or a season of factor 0: there is no multiplicative season.
    return forecast if np.isfinite(forecast).all() else last_value(history, season, horizon)


def is_seasonal(history: np.ndarray, season: int) -> bool:
    """M4's test: is the autocorrelation at the season's lag beyond its 90 % limit, given those at shorter lags?"""
    if season <= 1 or len(history) < 3 * season or np.ptp(history) == 0:
        return False
    centred = history - np.mean(history)
    lags = range(1, season + 1)
    correlations = np.array([centred[lag:] @ centred[:-lag] for lag in lags]) / (centred @ centred)
    limit = 1.645 * np.sqrt((1 + 2 * np.sum(correlations[:-1] ** 2)) / len(history))
    return bool(abs(correlations[-1]) > limit)


def seasonal_factors(history: np.ndarray, season: int) -> np.ndarray:
    """Classical multiplicative decomposition: mean ratio to the centred moving average, by place in the season."""
    weights = np.ones(season) if season % 2 else np.array([0.5, *np.ones(season - 1), 0.5])
    trend = np.convolve(history, weights / season, mode="valid")
    start = len(weights) // 2
    ratios = history[start : start + len(trend)] / trend
    places = np.arange(start, start + len(trend)) % season
    factors = np.array([np.mean(ratios[places == place]) for place in range(season)])
    return factors / np.mean(factors)


def forecast_all(rule, histories: list[np.ndarray], season: int, horizon: int) -> np.ndarray:
    """One of the rules above for every series: [N, h]."""
    return np.stack([rule(history, season, horizon) for history in histories])
