"""Which quantiles a caller wants, and what their columns are called."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from fimjax.errors import InputError
from fimjax.inference.quantiles import interpolate_quantiles

NEAREST = 1e-12
"""How near to 0 and 1 a level may be: as far as names of columns and tails of distributions can tell."""


@dataclasses.dataclass(frozen=True)
class OutputSpec:
    """Names and levels of the columns besides the point forecast."""

    suffixes: tuple[str, ...]
    levels: tuple[float, ...]

    def columns(self, name: str, quantiles: np.ndarray, trained: tuple[float, ...]) -> dict[str, np.ndarray]:
        """Columns of a model's quantiles [..., L]."""
        found = interpolate_quantiles(quantiles, trained, self.levels)
        return {f"{name}-{suffix}": found[..., i] for i, suffix in enumerate(self.suffixes)}


def read_output_spec(level: Sequence[float] | float | None, quantiles: Sequence[float] | None) -> OutputSpec:
    """Intervals in per cent give `lo-80` and `hi-80`, quantiles in (0, 1) give `q-10`."""
    if level is not None and quantiles is not None:
        raise InputError("level and quantiles are two ways to ask for the same; give one of them")
    suffixes, levels = [], []
    for interval in _numbers("level", level):
        if not NEAREST <= interval / 100 <= 1 - NEAREST:
            raise InputError(f"level: {interval:.12g} is not between 0 and 100 (per cent)")
        suffixes += [f"lo-{_percent(interval)}", f"hi-{_percent(interval)}"]
        levels += [0.5 - interval / 200, 0.5 + interval / 200]
    for quantile in _numbers("quantiles", quantiles):
        if not NEAREST <= quantile <= 1 - NEAREST:
            raise InputError(f"quantiles: {quantile:.12g} is not between 0 and 1")
        suffixes.append(f"q-{_percent(quantile * 100)}")
        levels.append(quantile)
    if len(set(suffixes)) < len(suffixes):
        twice = next(s for s in suffixes if suffixes.count(s) > 1)
        raise InputError(f"level, quantiles: {twice} is asked for twice")
    return OutputSpec(tuple(suffixes), tuple(levels))


def _numbers(name: str, given: Any) -> list[float]:
    """One number or several, as floats."""
    if given is None:
        return []
    try:
        if isinstance(given, str | bytes | dict):
            raise TypeError
        return [float(x) for x in (given if np.ndim(given) or isinstance(given, set) else [given])]
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}={given!r}: give a number, or a list of numbers") from error


def _percent(x: float) -> str:
    """A level as it is written in a column's name: 0.3 * 100 is 30.000000000000004, and 1e-7 is no name."""
    return f"{x:.10f}".rstrip("0").rstrip(".")


@dataclasses.dataclass(frozen=True)
class Bounds:
    """What a caller knows of all values of a series."""

    low: float | None = None
    high: float | None = None

    @property
    def floor(self) -> float:
        """Below which no value lies; -inf if nothing is known."""
        return -np.inf if self.low is None else self.low

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Brings answers within the bounds."""
        return x if self.low is None and self.high is None else np.clip(x, self.low, self.high)


def read_bounds(nonnegative: bool, bounds: tuple[float | None, float | None] | None) -> Bounds:
    """The narrower of both ways to say it."""
    try:
        low, high = (None, None) if bounds is None else (None if x is None else float(x) for x in bounds)
    except (TypeError, ValueError) as error:
        raise InputError(f"bounds={bounds!r}: give two numbers, or None for no bound") from error
    if any(x is not None and np.isnan(x) for x in (low, high)):
        raise InputError(f"bounds={bounds!r}: a bound is not a number")
    low = max(0.0, low if low is not None else 0.0) if nonnegative else low
    if low is not None and high is not None and low > high:
        raise InputError(f"bounds: {low:g} is above {high:g}")
    return Bounds(low, high)
