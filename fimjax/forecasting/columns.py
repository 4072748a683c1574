"""Which quantiles a caller wants, and what their columns are called."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from fimjax.forecasting.levels import at_levels
from fimjax.forecasting.panel import InputError


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Names and levels of the columns besides the point forecast."""

    suffixes: tuple[str, ...]
    levels: tuple[float, ...]

    def columns(self, name: str, quantiles: np.ndarray, trained: tuple[float, ...]) -> dict[str, np.ndarray]:
        """Columns of a model's quantiles [..., L]."""
        found = at_levels(quantiles, trained, self.levels)
        return {f"{name}-{suffix}": found[..., i] for i, suffix in enumerate(self.suffixes)}


def read_wanted(level: Sequence[float] | float | None, quantiles: Sequence[float] | None) -> Wanted:
    """Intervals in per cent give `lo-80` and `hi-80`, quantiles in (0, 1) give `q-10`."""
    if level is not None and quantiles is not None:
        raise InputError("level and quantiles are two ways to ask for the same; give one of them")
    suffixes, levels = [], []
    for interval in np.atleast_1d([] if level is None else level):
        if not 0 < interval < 100:
            raise InputError(f"level: {interval:g} is not between 0 and 100 (per cent)")
        suffixes += [f"lo-{interval:g}", f"hi-{interval:g}"]
        levels += [0.5 - interval / 200, 0.5 + interval / 200]
    for quantile in [] if quantiles is None else quantiles:
        if not 0 < quantile < 1:
            raise InputError(f"quantiles: {quantile:g} is not between 0 and 1")
        # 0.3 * 100 is 30.000000000000004; %g has six digits.
        suffixes.append(f"q-{quantile * 100:g}")
        levels.append(float(quantile))
    if len(set(suffixes)) < len(suffixes):
        twice = next(s for s in suffixes if suffixes.count(s) > 1)
        raise InputError(f"level, quantiles: {twice} is asked for twice")
    return Wanted(tuple(suffixes), tuple(levels))


@dataclasses.dataclass(frozen=True)
class Bounds:
    """What a caller knows of all values of a series."""

    low: float | None = None
    high: float | None = None

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Brings answers within the bounds."""
        return x if self.low is None and self.high is None else np.clip(x, self.low, self.high)


def read_bounds(nonnegative: bool, bounds: tuple[float | None, float | None] | None) -> Bounds:
    """The narrower of both ways to say it."""
    low, high = (None, None) if bounds is None else bounds
    low = max(0.0, low if low is not None else 0.0) if nonnegative else low
    if low is not None and high is not None and low > high:
        raise InputError(f"bounds: {low:g} is above {high:g}")
    return Bounds(low, high)
