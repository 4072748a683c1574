"""Forecasts to score: of random series, and of real ones by real models."""

import dataclasses

import numpy as np
import pandas as pd
from statsforecast.models import AutoETS, SeasonalNaive
from statsforecast.utils import AirPassengers

from fimjax.evaluation import metrics
from fimjax.evaluation.forecasts import INTERVALS, LEVELS, interval_indices, level_index
from fimjax.evaluation.metrics import SCORED, RatioOfSums

SCORED_LEVELS = tuple(LEVELS[i] for i in SCORED)


@dataclasses.dataclass(frozen=True)
class Case:
    """Series, their test parts and forecasts of these, with axes as in `metrics`."""

    histories: list[np.ndarray]
    season: int
    y: np.ndarray
    point: np.ndarray
    naive: np.ndarray
    quantiles: np.ndarray

    @property
    def scales(self) -> np.ndarray:
        return np.array([metrics.naive_scale(history, self.season) for history in self.histories])

    def scrps(self) -> RatioOfSums:
        return metrics.scrps(self.y, self.quantiles[..., SCORED], SCORED_LEVELS)

    def bounds(self, interval: int) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = interval_indices(interval)
        return self.quantiles[..., lower], self.quantiles[..., upper]

    def history_frame(self) -> pd.DataFrame:
        lengths = [len(history) for history in self.histories]
        ids = np.repeat(np.arange(len(lengths)), lengths)
        return pd.DataFrame({"unique_id": ids, "y": np.concatenate(self.histories)})

    def frame(self) -> pd.DataFrame:
        """A row per step, with the columns that utilsforecast looks for."""
        series, horizon = self.y.shape
        columns = {"unique_id": np.repeat(np.arange(series), horizon), "y": self.y.ravel()}
        columns |= {"model": self.point.ravel(), "naive": self.naive.ravel()}
        columns |= {f"q-{level}": self.quantiles[..., i].ravel() for i, level in enumerate(LEVELS)}
        for interval in INTERVALS:
            lower, upper = self.bounds(interval)
            columns |= {f"model-lo-{interval}": lower.ravel(), f"model-hi-{interval}": upper.ravel()}
        return pd.DataFrame(columns)


def seasonal_naive(history: np.ndarray, season: int, horizon: int) -> np.ndarray:
    return np.resize(history[-season:], horizon)


def random_case(seed: int, series: int = 8, season: int = 4, horizon: int = 6) -> Case:
    """Series of both signs and of sizes from 0.001 to 10,000, with zeros among them; forecasts that are often wrong."""
    rng = np.random.default_rng(seed)
    sizes = 10 ** rng.uniform(-3, 4, (series, 1))
    offsets = rng.choice([-2, 0, 2], (series, 1))
    draw = lambda *shape: sizes * (offsets + rng.normal(size=shape))
    histories = [row[: rng.integers(season + 1, 40)] for row in draw(series, 40)]
    y, point = draw(series, horizon), draw(series, horizon)
    y[rng.random(y.shape) < 0.15] = 0.0
    quantiles = np.sort(point[..., None] + 0.8 * sizes[..., None] * rng.normal(size=(*y.shape, len(LEVELS))))
    naive = np.stack([seasonal_naive(history, season, horizon) for history in histories])
    return Case(histories, season, y, point, naive, quantiles)


def real_case(model: type, season: int = 12, horizon: int = 6) -> Case:
    """Six overlapping pieces of the monthly airline passengers of Box and Jenkins, and forecasts of a model."""
    pieces = [AirPassengers[start : start + 48 + horizon].astype(np.float64) for start in range(0, 90, 16)]
    histories, y = [piece[:-horizon] for piece in pieces], np.stack([piece[-horizon:] for piece in pieces])
    fits = [model(season_length=season).forecast(y=h, h=horizon, level=list(INTERVALS)) for h in histories]
    point = np.stack([fit["mean"] for fit in fits])
    quantiles = np.empty((*y.shape, len(LEVELS)))
    quantiles[..., level_index(0.5)] = point
    for interval in INTERVALS:
        for name, index in zip(("lo", "hi"), interval_indices(interval)):
            quantiles[..., index] = np.stack([fit[f"{name}-{interval}"] for fit in fits])
    naive = np.stack([seasonal_naive(history, season, horizon) for history in histories])
    return Case(histories, season, y, point, naive, quantiles)


CASES = {f"random {seed}": lambda seed=seed: random_case(seed) for seed in range(3)}
CASES |= {model.__name__: lambda model=model: real_case(model) for model in (AutoETS, SeasonalNaive)}


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
