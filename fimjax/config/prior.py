"""The synthetic series that a model learns from."""

import dataclasses
import math
from dataclasses import dataclass, field

from fimjax.config.checks import require


@dataclass(frozen=True)
class PriorWeights:
    """How much of each batch every family of synthetic series gets; scaled to sum to one.

    The default fills a group of 32 without rounding and leans to what business and economic series look like.
    """

    rbf: float = 1.0
    """Gaussian process, squared-exponential kernel."""
    periodic: float = 1.0
    """Gaussian process, periodic kernel."""
    locally_periodic: float = 1.0
    """Gaussian process, periodic kernel times squared exponential."""
    linear_periodic: float = 1.0
    """Gaussian process, linear plus periodic kernel."""
    chebyshev: float = 1.0
    """Chebyshev expansions with decaying coefficients."""
    dataset_g: float = 1.0
    """The nine signals of Dataset G and their combinations."""
    smooth: float = 4.0
    """Smooth process plus season plus trend plus noise."""
    ets: float = 8.0
    """Exponential smoothing in all its additive and multiplicative forms."""
    sarima: float = 2.0
    """Seasonal ARIMA by sampled poles."""
    local_linear_trend: float = 2.0
    """Level and slope that both wander."""
    random_walk: float = 4.0
    """Random walk with drift."""
    growing: float = 4.0
    """Growth at a rate that wanders."""
    regimes: float = 1.0
    """Level shifts and regimes that switch."""
    counts: float = 1.0
    """Intermittent demand: counts with many zeros."""

    def __post_init__(self):
        values = dataclasses.asdict(self)
        for name, value in values.items():
            require(value >= 0 and math.isfinite(value), f"weights.{name}: {value} is not a weight")
        require(sum(values.values()) > 0, "weights: at least one family needs a positive weight")


@dataclass(frozen=True)
class PriorConfig:
    """The synthetic series that a model learns from."""

    weights: PriorWeights = field(default_factory=PriorWeights)
    """Share of each family."""
    group_size: int = 32
    """Series drawn together; each group holds the families in proportion to their weights, so that the same series come
    on any number of devices. The batch on each device is a multiple of it."""
    windows: int = 5
    """K: windows drawn for each series, the last one being the target."""
    slots: int = 128
    """Places for observations in each window."""
    min_window_steps: int = 4
    """Fewest steps that a window (and so the horizon) lasts."""
    max_window_steps: int = 96
    """Most steps that a window lasts; with more steps than slots, the window is thinned to its slots."""
    min_context: int = 3
    """Fewest steps of history."""
    short_history: float = 0.6
    """Share of series whose history is cut short, to a length anywhere from min_context up."""
    seasons: tuple[int, ...] = (1,) * 7 + (2, 3) + (4,) * 4 + (5, 6, 7, 7) + (12,) * 6 + (13,) + (24,) * 3 + (
        48, 52, 52, 96, 168
    )  # fmt: skip
    """Season lengths in steps, drawn with equal chance; repeat one to make it likelier. Some families prefer some."""
    matched_windows: float = 0.0
    """Share of the series whose windows last what is asked for by the month or the day: half a season to three of them,
    and 4 to 16 steps where there is none."""
    hidden_season: float = 0.15
    """Share of series whose season length is not told (reported as 1)."""
    wrong_season: float = 0.03
    """Share of series of which another season length is told than theirs."""
    hidden_floor: float = 0.4
    """Share of series of which it is not told below what they never fall."""
    growth: float = 0.9
    """Share of yearly series with steady growth on top, which most of what people count and sell has. Of series with
    shorter steps it is so much less as their steps are: from year to year growth shows more than by the hour."""
    max_rise: float = 20.0
    """Furthest that steady growth takes a series, in deviations of what it is added to."""
    jumps: float = 0.25
    """Share of series whose level jumps now and then, and stays."""
    cycles: float = 0.8
    """Share of series of years, quarters and months whose level has a cycle of some years."""
    days: float = 0.7
    """Share of series whose season is a day that follow the clock: strong seasons, and errors larger than their level
    is restless."""
    weeks: float = 0.6
    """Share of series whose season is a day that have weeks of such days."""
    exponential: float = 0.6
    """Share of series that are exponentiated after scaling: growth and seasons become multiplicative."""
    irregular: float = 0.2
    """Share of continuous-time series observed at jittered times."""
    missing: float = 0.4
    """Share of series with missing observations: at random, by a regular stride, or in runs."""
    max_missing: float = 0.75
    """Largest part of the observations that may be missing."""
    noise: float = 0.7
    """Share of series with measurement noise on top."""
    process_noise: float = 0.15
    """What part of that share the processes have that move by random errors of their own: more noise on top of them
    would teach to distrust the last observation."""
    unrest: float = 0.6
    """Share of seasonal series of quarters and months, of all families, whose noise keeps up with how their level
    moves: what people count has errors, and the more the less steady it is."""
    max_noise: float = 0.5
    """Largest standard deviation of that noise, relative to the signal's."""
    outliers: float = 0.05
    """Share of series with a few outliers among the observations."""

    def __post_init__(self):
        require(self.group_size > 0, "group_size: must be positive")
        require(self.windows >= 2, "windows: at least 2 are needed, one seen and one to predict")
        require(self.slots >= 2, "slots: at least 2 are needed")
        require(
            2 <= self.min_window_steps <= self.max_window_steps,
            f"min_window_steps: {self.min_window_steps} is not between 2 and max_window_steps {self.max_window_steps}",
        )
        require(1 <= self.min_context, "min_context: must be positive")
        require(
            len(self.seasons) > 0 and all(1 <= s <= MAX_SEASON for s in self.seasons),
            f"seasons: lengths must lie between 1 and {MAX_SEASON}",
        )
        of_layout = (
            "short_history",
            "matched_windows",
            "hidden_season",
            "wrong_season",
            "hidden_floor",
            "irregular",
            "missing",
        )
        of_values = (
            "growth",
            "jumps",
            "cycles",
            "days",
            "weeks",
            "exponential",
            "noise",
            "process_noise",
            "unrest",
            "outliers",
        )
        for name in of_layout + of_values:
            require(0 <= getattr(self, name) <= 1, f"{name}: {getattr(self, name)} is not a share in [0, 1]")
        require(self.max_rise > 0.5, f"max_rise: must be above 0.5, not {self.max_rise}")
        require(0 <= self.max_missing < 1, "max_missing: must lie in [0, 1)")
        require(self.max_noise >= 0, "max_noise: must not be negative")

    @property
    def total_steps(self) -> int:
        """Steps that are simulated for each series."""
        return self.windows * self.max_window_steps


MAX_SEASON = 168
"""Longest season that the prior simulates, in steps: a week of hours."""
