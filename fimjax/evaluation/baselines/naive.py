"""The naive forecasts that scores are relative to: last value, last season, and M4's Naive2."""

from collections.abc import Callable

import numpy as np

Rule = Callable[[np.ndarray, int, int], np.ndarray]
"""Forecasts h steps from a history, its season and h."""


def last_value(history: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """Repeats the last value: Naive1."""
    return np.repeat(history[-1], horizon)


def last_season(history: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """Repeats the last season, or the last value if the history is shorter than a season."""
    if len(history) < season:
        return last_value(history, season, horizon)
    return np.resize(history[-season:], horizon)


def naive2(history: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """M4's Naive2: the last value of the seasonally adjusted series, times the seasonal factors."""
    if not is_seasonal(history, season):
        return last_value(history, season, horizon)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = seasonal_factors(history, season)  # factors[k] belongs to steps t with t % season == k
        steps = np.arange(len(history), len(history) + horizon) % season
        forecast = history[-1] / factors[(len(history) - 1) % season] * factors[steps]
    # With a trend or a factor of 0 there is no multiplicative season.
    return forecast if np.isfinite(forecast).all() else last_value(history, season, horizon)


def is_seasonal(history: np.ndarray, season: int) -> bool:
    """M4's test: is the autocorrelation at the seasonal lag outside its 90 % limit, given the shorter lags?"""
    if season <= 1 or len(history) < 3 * season or np.ptp(history) == 0:
        return False
    centred = history - np.mean(history)
    lags = range(1, season + 1)
    correlations = np.array([centred[lag:] @ centred[:-lag] for lag in lags]) / (centred @ centred)
    limit = 1.645 * np.sqrt((1 + 2 * np.sum(correlations[:-1] ** 2)) / len(history))
    return bool(abs(correlations[-1]) > limit)


def seasonal_factors(history: np.ndarray, season: int) -> np.ndarray:
    """Classical multiplicative decomposition: mean ratio to the centred moving average, by phase of the season."""
    weights = np.ones(season) if season % 2 else np.array([0.5, *np.ones(season - 1), 0.5])
    trend = np.convolve(history, weights / season, mode="valid")
    start = len(weights) // 2
    ratios = history[start : start + len(trend)] / trend
    phases = np.arange(start, start + len(trend)) % season
    factors = np.array([np.mean(ratios[phases == phase]) for phase in range(season)])
    return factors / np.mean(factors)


def forecast_all(rule: Rule, histories: list[np.ndarray], season: int, horizon: int) -> np.ndarray:
    """Applies one of the rules above to every series: [B, h]."""
    return np.stack([rule(history, season, horizon) for history in histories])
