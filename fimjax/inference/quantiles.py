"""The predicted columns: which quantiles a caller wants, their names, their values, and bounds on all of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np

from fimjax.errors import InputError

Level: TypeAlias = Sequence[float] | float | None
"""Central intervals in per cent, as callers give them."""

Limits: TypeAlias = tuple[float | None, float | None]
"""A lower and an upper bound of all values, None for no bound."""

NEAREST = 1e-12
"""How near to 0 and 1 a level may be: column names and the tails of distributions are not more precise."""

POWER = 2.0**40
"""A power of two, by which numbers are divided without losing a digit."""

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class OutputSpec:
    """Names and levels of the columns besides the point forecast."""

    suffixes: tuple[str, ...]
    levels: tuple[float, ...]

    def columns(self, name: str, quantiles: np.ndarray, trained: tuple[float, ...]) -> dict[str, np.ndarray]:
        """The columns of a model's quantiles [..., L]."""
        found = interpolate_quantiles(quantiles, trained, self.levels)
        return {f"{name}-{suffix}": found[..., i] for i, suffix in enumerate(self.suffixes)}


def read_output_spec(level: Level, quantiles: Iterable[float] | float | None) -> OutputSpec:
    """Reads intervals in per cent, for `lo-80` and `hi-80`, or quantiles in (0, 1), for `q-10`."""
    if level is not None and quantiles is not None:
        raise InputError("give either level or quantiles, not both")
    suffixes, levels = [], []
    for interval in _numbers("level", level):
        if not NEAREST <= interval / 100 <= 1 - NEAREST:
            raise InputError(f"level: {interval:.12g} is not between 0 and 100 (per cent)")
        if interval < 1:
            raise InputError(f"level: {interval:.12g} is a share; give per cent, such as {100 * interval:.12g}")
        suffixes += [f"lo-{_percent(interval)}", f"hi-{_percent(interval)}"]
        levels += [0.5 - interval / 200, 0.5 + interval / 200]
    for quantile in _numbers("quantiles", quantiles):
        if not NEAREST <= quantile <= 1 - NEAREST:
            raise InputError(f"quantiles: {quantile:.12g} is not between 0 and 1")
        suffixes.append(f"q-{_percent(quantile * 100)}")
        levels.append(quantile)
    if len(set(suffixes)) < len(suffixes):
        twice = next(s for s in suffixes if suffixes.count(s) > 1)
        raise InputError(f"level, quantiles: {twice} is given twice")
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
    """A level as column names write it: 0.3 * 100 is 30.000000000000004, and 1e-7 must not be in a name."""
    return f"{x:.10f}".rstrip("0").rstrip(".")


def interpolate_quantiles(quantiles: np.ndarray, trained: tuple[float, ...], wanted: tuple[float, ...]) -> np.ndarray:
    """Quantiles at any level, on straight lines between the trained ones on normal probability paper.

    Beyond the outermost trained levels, the tail is that of a normal distribution through the last two, so it never
    ends and never crosses. A model without quantiles has no uncertainty: its value is returned for all levels.

    Args:
        quantiles: [..., L], increasing; L = 1 for a value.
        trained: the L levels, or () for a value.
        wanted: levels in (0, 1).

    Returns:
        [..., len(wanted)]
    """
    if len(trained) < 2:
        return np.repeat(quantiles, len(wanted), axis=-1)
    z, x = (np.array([NormalDist().inv_cdf(level) for level in levels]) for levels in (trained, wanted))
    order = np.argsort(x, kind="stable")
    left = np.clip(np.searchsorted(z, x[order], side="right") - 1, 0, len(z) - 2)
    share = (x[order] - z[left]) / (z[left + 1] - z[left])
    # Away from the largest number, so that neither a difference nor a tail overflows.
    unit = POWER if np.abs(quantiles).max(initial=0.0) > LARGEST / POWER else 1.0
    quantiles = quantiles / unit
    low, high = quantiles[..., left], quantiles[..., left + 1]
    found = low + share * (high - low)
    # Rounding must not let a quantile pass its neighbours or another level.
    found = np.clip(found, np.where(share < 0, -LARGEST / unit, low), np.where(share > 1, LARGEST / unit, high))
    rising = np.maximum.accumulate(found, axis=-1) * unit
    return rising[..., np.argsort(order)]


@dataclass(frozen=True)
class Bounds:
    """Known bounds of all values of a series."""

    low: float | None = None
    high: float | None = None

    @property
    def floor(self) -> float:
        """The lower bound; -inf if there is none."""
        return -np.inf if self.low is None else self.low

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Clips predictions to the bounds."""
        return x if self.low is None and self.high is None else np.clip(x, self.low, self.high)


def read_bounds(nonnegative: bool, bounds: Limits | None) -> Bounds:
    """Reads both ways to give bounds; the narrower one holds."""
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
