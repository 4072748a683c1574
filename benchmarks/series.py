"""Synthetic series with the frequencies, horizons, lengths and proportions of the M4 competition."""

import dataclasses

import numpy as np
import pandas as pd


@dataclasses.dataclass(frozen=True)
class Group:
    """The series of one frequency."""

    name: str
    freq: str
    """Pandas alias of the frequency."""
    horizon: int
    season: int
    """Season length in M4; 1 = none."""
    series: int
    """Number of M4's 100,000 series with this frequency."""
    shares: tuple[float, ...]
    lengths: tuple[int, ...]
    """Points of the distribution of lengths: shares of series and lengths, linear in between."""


QUARTERS = (0.0, 0.25, 0.5, 0.75, 0.995, 1.0)

# Extremes and quartiles of the training parts: Makridakis et al., "The M4 Competition: 100,000 time series and 61
# forecasting methods" (2020). The length at 99.5 % is chosen so that the mean is close to M4's. The longest yearly
# series is cut from 835 points to 300, because pandas' nanoseconds cover no more years. Hourly series have 700 or 960
# points.
GROUPS = (
    Group("yearly", "YS", 6, 1, 23_000, QUARTERS, (13, 20, 29, 40, 54, 300)),
    Group("quarterly", "QS", 8, 4, 24_000, QUARTERS, (16, 62, 88, 115, 177, 866)),
    Group("monthly", "MS", 18, 12, 48_000, QUARTERS, (42, 82, 202, 306, 458, 2794)),
    Group("weekly", "W", 13, 1, 359, QUARTERS, (80, 379, 934, 1603, 2244, 2597)),
    Group("daily", "D", 14, 1, 4_227, QUARTERS, (93, 323, 2940, 4197, 4210, 9919)),
    Group("hourly", "h", 48, 24, 414, (0.0, 0.408, 0.4081, 1.0), (700, 700, 960, 960)),
)
BY_NAME = {group.name: group for group in GROUPS}
M4_SERIES = sum(group.series for group in GROUPS)


def counts(series: int) -> dict[str, int]:
    """Divides this many series among frequencies as in M4 (largest remainders), with at least one of each."""
    if series < len(GROUPS):
        raise ValueError(f"{series} series are fewer than the {len(GROUPS)} frequencies")
    exact = np.array([series * group.series / M4_SERIES for group in GROUPS])
    found = np.maximum(np.floor(exact).astype(int), 1)
    while (left := series - found.sum()) != 0:
        off = exact - found
        # Shares below one were rounded up, so others are reduced.
        position = off.argmax() if left > 0 else np.where(found > 1, off, np.inf).argmin()
        found[position] += np.sign(left)
    return {group.name: int(n) for group, n in zip(GROUPS, found)}


def draw_lengths(group: Group, n: int, rng: np.random.Generator) -> np.ndarray:
    """n lengths [n] in random order, evenly spread over M4's, so that small samples have the same mean."""
    shares = (np.arange(n) + 0.5) / n
    return rng.permutation(np.interp(shares, group.shares, group.lengths).round().astype(int))


def make_frame(group: Group, n: int, seed: int = 0) -> pd.DataFrame:
    """A long frame of n series with level, random walk, season and noise; all end on the same date."""
    rng = np.random.default_rng(seed)
    lengths = draw_lengths(group, n, rng)
    starts = np.cumsum(lengths) - lengths
    ends_in = np.repeat(starts + lengths, lengths) - np.arange(lengths.sum())  # 1 for the last point of a series
    dates = pd.date_range(end="2018-01-01", periods=lengths.max(), freq=group.freq).to_numpy()
    names = np.array([f"{group.name[0].upper()}{i}" for i in range(n)], object)

    walk = np.cumsum(rng.normal(0.0, 0.02, len(ends_in)))
    walk -= np.repeat(walk[starts], lengths)
    phase = 2 * np.pi / max(group.season, 2) * ends_in
    season = np.repeat(rng.uniform(0.0, 0.3, n) * (group.season > 1), lengths) * np.sin(phase)
    level = np.repeat(rng.lognormal(7.0, 1.0, n), lengths)
    y = level * np.exp(walk + season + rng.normal(0.0, 0.02, len(ends_in)))
    return pd.DataFrame({"unique_id": np.repeat(names, lengths), "ds": dates[-ends_in], "y": y})


def make_frames(series: int, seed: int = 0) -> dict[str, pd.DataFrame]:
    """A frame for each frequency, with this many series in total."""
    return {name: make_frame(BY_NAME[name], n, seed) for name, n in counts(series).items()}
