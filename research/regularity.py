"""How near to the best that is possible a model comes on made-up series, whose best forecast is known.

`python -m research.regularity` makes up seasons of no particular shape, of deviation 1, with errors half to a
fiftieth as large, by a fifth of which the level moves on each time (exponential smoothing without a trend). Who knew
the season and that share would miss by the errors alone; the table says how many times as far the model misses, how
many times as wide its intervals are as those of who knew, and what they cover. No real series is read.
"""

import argparse
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd

from fimjax.errors import PretrainedError
from fimjax.forecaster import Forecaster

ERRORS = (0.5, 0.2, 0.05, 0.02)
SHARE = 0.2
"""Of each error, by which the level moves on."""
LEVEL = 80
WIDTH, MISS = 2 * 1.2816, np.sqrt(2 / np.pi)
"""Of a normal variable of deviation 1: its 80 % interval, and how far it lies from zero."""


class Setting(NamedTuple):
    """What is asked of made-up series."""

    season: int
    horizon: int
    history: int
    weeks: bool = False  # seven seasons, of which two are a third as large


SETTINGS = {
    "quarters": Setting(4, 8, 64),
    "months": Setting(12, 24, 192),
    "hours": Setting(24, 48, 600),
    "hours with weekends": Setting(24, 48, 600, weeks=True),
}


def make_up(setting: Setting, errors: float, count: int, seed: int = 0) -> np.ndarray:
    """Series [count, history + horizon], the season's deviation being 1."""
    rng = np.random.default_rng(seed)
    n = setting.history + setting.horizon
    pattern = rng.normal(size=(count, setting.season))
    pattern = (pattern - pattern.mean(axis=1, keepdims=True)) / pattern.std(axis=1, keepdims=True)
    t = np.arange(n)
    season = pattern[:, t % setting.season]
    if setting.weeks:
        season = season * np.where((t // setting.season + rng.integers(7, size=(count, 1))) % 7 < 2, 1 / 3, 1.0)
    noise = errors * rng.normal(size=(count, n))
    level = np.cumsum(SHARE * noise, axis=1) - SHARE * noise
    return 10.0 + season + level + noise


def compare(model: Forecaster, setting: Setting, errors: float, count: int) -> dict[str, float]:
    """What the model's intervals cover, and how wide and how far off it is beside who knew."""
    series = make_up(setting, errors, count)
    past, future = series[:, : setting.history], series[:, setting.history :]
    found = model.forecast(past, setting.horizon, season_length=setting.season, level=LEVEL)
    read = lambda column: found[f"{model.name}{column}"].to_numpy().reshape(future.shape)
    middle, low, high = map(read, ("", f"-lo-{LEVEL}", f"-hi-{LEVEL}"))
    deviation = errors * np.sqrt(1.0 + SHARE**2 * np.arange(setting.horizon))
    return {
        f"{LEVEL} % covers": np.mean((future >= low) & (future <= high)),
        "width / ideal": np.median((high - low) / (WIDTH * deviation)),
        "miss / ideal": np.mean(np.abs(future - middle) / (MISS * deviation)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="name or folder of weights, or a run (default: those that ship)")
    parser.add_argument("--count", type=int, default=64, help="series of each kind (default: 64)")
    arguments = parser.parse_args()
    try:
        model = Forecaster.from_pretrained(arguments.model)
    except PretrainedError as error:
        print(f"regularity: {error}", file=sys.stderr)
        return 2
    rows = {
        f"{name}, errors {errors}": compare(model, setting, errors, arguments.count)
        for name, setting in SETTINGS.items()
        for errors in ERRORS
    }
    print(pd.DataFrame(rows).T.to_string(float_format="{:.2f}".format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
