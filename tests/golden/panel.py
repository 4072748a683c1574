"""A fixed panel of fifteen series of all kinds, for the golden answers.

`make_panel` builds it anew from seeds; `load_panel` reads it from `answers.npz`, so that tests do not depend on NumPy's
generators. In the npz a frame is stored as `panel/<freq>/unique_id`, `.../ds` (datetime64[s]) and `.../y`, a tuple as
`panel/<name>/t` and `panel/<name>/y`.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from fimjax.examples import air_passengers

ANSWERS = Path(__file__).parent / "answers.npz"
PREFIX = "panel/"

MONTHLY, QUARTERLY, YEARLY, WEEKLY, DAILY, HOURLY = FREQUENCIES = ("MS", "QS", "YS", "W", "D", "h")
TUPLES = ("irregular", "negative_irregular", "short_irregular")


class Panel(NamedTuple):
    """Long frames (unique_id, ds, y) by the alias of their frequency, and tuples (t, y) by name."""

    frames: dict[str, pd.DataFrame]
    tuples: dict[str, tuple[np.ndarray, np.ndarray]]


def make_panel() -> Panel:
    """The panel, built from seeds."""
    groups = {
        MONTHLY: (passengers(), monthly_gaps(), monthly_constant(), monthly_counts(), monthly_large()),
        QUARTERLY: (quarterly_negative(),),
        YEARLY: (yearly(), yearly_short()),
        WEEKLY: (weekly(),),
        DAILY: (daily_gaps(),),
        HOURLY: (hourly_long(), hourly_short()),
    }
    tuples = {
        "irregular": irregular(),
        "negative_irregular": negative_irregular(),
        "short_irregular": short_irregular(),
    }
    return Panel({freq: pd.concat(parts, ignore_index=True) for freq, parts in groups.items()}, tuples)


def panel_arrays(panel: Panel) -> dict[str, np.ndarray]:
    """The panel as arrays for an npz."""
    arrays = {}
    for freq, df in panel.frames.items():
        arrays[f"{PREFIX}{freq}/unique_id"] = df["unique_id"].to_numpy(str)
        arrays[f"{PREFIX}{freq}/ds"] = df["ds"].to_numpy("datetime64[s]")
        arrays[f"{PREFIX}{freq}/y"] = df["y"].to_numpy(np.float64)
    for name, (t, y) in panel.tuples.items():
        arrays[f"{PREFIX}{name}/t"], arrays[f"{PREFIX}{name}/y"] = t, y
    return arrays


def load_panel(path: Path = ANSWERS) -> Panel:
    """The panel, as it is stored in an npz."""
    with np.load(path) as file:
        frames = {freq: _stored_frame(file, freq) for freq in FREQUENCIES}
        tuples = {name: (file[f"{PREFIX}{name}/t"], file[f"{PREFIX}{name}/y"]) for name in TUPLES}
    return Panel(frames, tuples)


def passengers() -> pd.DataFrame:
    """Airline passengers, 144 months."""
    df = pd.read_csv(air_passengers())
    return _frame("passengers", df["month"].astype("datetime64[ns]"), df["passengers"])


def monthly_gaps() -> pd.DataFrame:
    """Eight years with a season, with missing values and missing rows."""
    rng, t = np.random.default_rng(1), np.arange(96)
    y = 50 + 0.2 * t + 8 * np.sin(2 * np.pi * t / 12) + rng.normal(size=96)
    y[rng.random(96) < 0.15] = np.nan
    df = _frame("monthly_gaps", pd.date_range("2010-03-01", periods=96, freq="MS"), y)
    return df[(rng.random(96) > 0.1) | (t == 0) | (t == 95)]


def monthly_constant() -> pd.DataFrame:
    """Forty months of the same value."""
    return _frame("monthly_constant", pd.date_range("2015-01-01", periods=40, freq="MS"), np.full(40, 7.5))


def monthly_counts() -> pd.DataFrame:
    """Six years of small counts, most of them zero."""
    y = np.random.default_rng(2).poisson(0.8, size=72)
    return _frame("monthly_counts", pd.date_range("2012-01-01", periods=72, freq="MS"), y)


def monthly_large() -> pd.DataFrame:
    """Five years of millions that grow by shares of themselves."""
    rng, t = np.random.default_rng(3), np.arange(60)
    y = 2e6 * np.exp(0.012 * t + 0.15 * np.cos(2 * np.pi * t / 12) + 0.03 * rng.normal(size=60))
    return _frame("monthly_large", pd.date_range("2016-01-01", periods=60, freq="MS"), y)


def quarterly_negative() -> pd.DataFrame:
    """Twelve years of negative values with a falling trend and a season."""
    rng, t = np.random.default_rng(4), np.arange(48)
    y = -30 - 0.4 * t + np.tile([3.0, -1.0, -4.0, 2.0], 12) + rng.normal(size=48)
    return _frame("quarterly_negative", pd.date_range("2008-01-01", periods=48, freq="QS"), y)


def yearly() -> pd.DataFrame:
    """Thirty years of a random walk with drift."""
    y = 100 + np.cumsum(1.5 + 2 * np.random.default_rng(5).normal(size=30))
    return _frame("yearly", pd.date_range("1990-01-01", periods=30, freq="YS"), y)


def yearly_short() -> pd.DataFrame:
    """Four years."""
    return _frame("yearly_short", pd.date_range("2016-01-01", periods=4, freq="YS"), [3.1, 3.9, 4.2, 5.3])


def weekly() -> pd.DataFrame:
    """A level that wanders and jumps, 130 weeks."""
    rng = np.random.default_rng(6)
    y = 500 + np.cumsum(5 * rng.normal(size=130)) + 80 * (np.arange(130) > 90) + 10 * rng.normal(size=130)
    return _frame("weekly", pd.date_range("2018-01-07", periods=130, freq="W"), y)


def daily_gaps() -> pd.DataFrame:
    """Two hundred days with a week, an outlier, a run of missing rows and scattered ones."""
    rng, t = np.random.default_rng(7), np.arange(200)
    y = 20 + 0.02 * t + np.array([0.0, 1, 2, 2, 3, -3, -5])[t % 7] + 0.7 * rng.normal(size=200)
    y[150] += 15
    df = _frame("daily_gaps", pd.date_range("2021-05-03", periods=200, freq="D"), y)
    return df[((rng.random(200) > 0.1) & ~((t > 60) & (t < 75))) | (t == 199)]


def hourly_long() -> pd.DataFrame:
    """Thirty days of hours with a day and a week."""
    rng, t = np.random.default_rng(8), np.arange(720)
    daily = 6 * np.sin(2 * np.pi * t / 24) + 2 * np.cos(4 * np.pi * t / 24)
    y = 40 + daily * (1 - 0.4 * (t // 24 % 7 >= 5)) + rng.normal(size=720)
    return _frame("hourly_long", pd.date_range("2022-01-03", periods=720, freq="h"), y)


def hourly_short() -> pd.DataFrame:
    """Fifty hours, skewed."""
    rng, t = np.random.default_rng(9), np.arange(50)
    y = np.exp(0.8 * np.sin(2 * np.pi * t / 24) + 0.2 * rng.normal(size=50))
    return _frame("hourly_short", pd.date_range("2022-02-01", periods=50, freq="h"), y)


def irregular() -> tuple[np.ndarray, np.ndarray]:
    """A smooth curve under noise at ninety random times."""
    rng = np.random.default_rng(10)
    t = np.sort(rng.uniform(0, 100, size=90))
    return t, np.sin(t / 6) + 0.3 * np.cos(t / 2) + 0.1 * rng.normal(size=90)


def negative_irregular() -> tuple[np.ndarray, np.ndarray]:
    """Negative values that fall, at forty random times, one of them missing."""
    rng = np.random.default_rng(11)
    t = 1000 + np.cumsum(rng.uniform(0.5, 3.0, size=40))
    y = -1e-3 * (5 + 0.1 * (t - 1000) + 0.2 * rng.normal(size=40))
    y[17] = np.nan
    return t, y


def short_irregular() -> tuple[np.ndarray, np.ndarray]:
    """Four points."""
    return np.array([0.0, 1.5, 2.0, 4.5]), np.array([1.0, 2.0, 1.5, 3.0])


def _frame(name: str, ds, y) -> pd.DataFrame:
    return pd.DataFrame({"unique_id": name, "ds": np.asarray(ds, "datetime64[s]"), "y": np.asarray(y, np.float64)})


def _stored_frame(file, freq: str) -> pd.DataFrame:
    columns = {name: file[f"{PREFIX}{freq}/{name}"] for name in ("unique_id", "ds", "y")}
    return pd.DataFrame({**columns, "unique_id": columns["unique_id"].astype(object)})
