"""The synthetic series that a model learns from."""

import dataclasses
import math
from dataclasses import dataclass, field

from fimjax.config.checks import require

MAX_SEASON = 168
"""Longest season that the prior simulates, in steps: a week of hours."""


@dataclass(frozen=True)
class PriorWeights:
    """Share of each family of series in a batch, scaled to sum to one. A family that is not named is left out."""

    rbf: float = 0.0
    """Gaussian process, squared-exponential kernel."""
    periodic: float = 0.0
    """Gaussian process, periodic kernel."""
    locally_periodic: float = 0.0
    """Gaussian process, periodic kernel times squared exponential."""
    linear_periodic: float = 0.0
    """Gaussian process, linear plus periodic kernel."""
    chebyshev: float = 0.0
    """Chebyshev expansions with decaying coefficients."""
    dataset_g: float = 0.0
    """The nine signals of the paper's Dataset G and their combinations."""
    smooth: float = 0.0
    """Smooth process plus season plus trend plus noise."""
    ets: float = 0.0
    """Exponential smoothing in all its additive and multiplicative forms."""
    sarima: float = 0.0
    """Seasonal ARIMA by sampled poles."""
    local_linear_trend: float = 0.0
    """Level and slope that are both random walks."""
    random_walk: float = 0.0
    """Random walk with drift."""
    growing: float = 0.0
    """Growth at a rate that varies over time."""
    regimes: float = 0.0
    """Level shifts and switching regimes."""
    counts: float = 0.0
    """Intermittent demand: counts with many zeros."""

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            require(value >= 0 and math.isfinite(value), f"weights.{name}: {value} is not a weight")


@dataclass(frozen=True)
class PriorConfig:
    """Families, and the effects added to them. An effect that is not named is off."""

    weights: PriorWeights = field(default_factory=PriorWeights)
    """Share of each family."""
    group_size: int = 32
    """Series drawn together. Each group holds the families in proportion to their weights, so that the same series are
    drawn on any number of devices. The batch on each device is a multiple of it."""
    seasons: tuple[int, ...] = (1,)
    """Season lengths in steps, drawn with equal chance; repeat one to make it likelier; 1 = none. Some families prefer
    some of them."""
    short_history: float = 0.0
    """Share of series whose history is cut to a random length."""
    matched_windows: float = 0.0
    """Share of series whose window has a typical horizon: half a season to three seasons, or 4 to 16 steps without a
    season."""
    daily_pattern: float = 0.0
    """Share of series with a season of a day that get a strong daily pattern, and noise larger than the level's own
    movement."""
    weekly_pattern: float = 0.0
    """Share of series with a season of a day whose weekends differ from weekdays."""
    growth: float = 0.0
    """Share of yearly series with steady growth on top; lower for shorter steps, which show less growth."""
    max_rise: float = 20.0
    """Largest total rise by steady growth, in standard deviations of the series that it is added to."""
    cycles: float = 0.0
    """Share of yearly, quarterly and monthly series with a business cycle of several years."""
    jumps: float = 0.0
    """Share of series whose level jumps at random times, and stays."""
    exponential: float = 0.0
    """Share of series that are exponentiated after scaling: growth and seasons become multiplicative."""
    noise: float = 0.0
    """Share of series with measurement noise."""
    process_noise: float = 1.0
    """Factor on that share for stochastic processes, which have innovations of their own: more noise would teach the
    model to distrust the last observation."""
    level_noise: float = 0.0
    """Share of seasonal quarterly and monthly series whose noise is in proportion to the movement of their level."""
    max_noise: float = 0.5
    """Largest standard deviation of measurement noise, relative to the signal's."""
    outliers: float = 0.0
    """Share of series with a few outliers."""
    irregular: float = 0.0
    """Share of continuous-time series observed at jittered times."""
    missing: float = 0.0
    """Share of series with missing observations: at random, by a regular stride, or in runs."""
    max_missing: float = 0.75
    """Largest part of the observations that may be missing."""
    hidden_season: float = 0.0
    """Share of series whose season length is reported to the model as 1."""
    wrong_season: float = 0.0
    """Share of series whose season length is reported wrongly."""
    hidden_floor: float = 1.0
    """Share of series whose lower bound is not reported to the model."""

    def __post_init__(self) -> None:
        require(self.group_size > 0, "group_size: must be positive")
        require(
            len(self.seasons) > 0 and all(1 <= s <= MAX_SEASON for s in self.seasons),
            f"seasons: lengths must lie between 1 and {MAX_SEASON}",
        )
        for name in SHARES:
            require(0 <= getattr(self, name) <= 1, f"{name}: {getattr(self, name)} is not a share in [0, 1]")
        require(self.max_rise > 0.5, f"max_rise: must be above 0.5, not {self.max_rise}")
        require(0 <= self.max_missing < 1, "max_missing: must lie in [0, 1)")
        require(self.max_noise >= 0, "max_noise: must not be negative")


SHARES = (
    "short_history",
    "matched_windows",
    "daily_pattern",
    "weekly_pattern",
    "growth",
    "cycles",
    "jumps",
    "exponential",
    "noise",
    "process_noise",
    "level_noise",
    "outliers",
    "irregular",
    "missing",
    "hidden_season",
    "wrong_season",
    "hidden_floor",
)
"""Settings of the prior that are shares of series."""
