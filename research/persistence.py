"""Do past changes of a series continue, in M4 and in the prior?

`python -m research.persistence` regresses the future change per season on the change in the last season, in the last
three seasons and in the whole history, each in units of the series' mean absolute change per season. It compares the
training parts of M4 with series of the prior; the test parts are never read.

What was learned: in M4 the growth of decades continues, and recent booms do not. An earlier prior had too much of the
latter, and a model trained on it extrapolated every boom; since then the prior has business cycles.
"""

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linprog

from configs.small_fim import get_config
from fimjax.config import PriorConfig, PriorWeights, WindowConfig
from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.folder import load_dataset
from fimjax.evaluation.datasets.sampling import take_sample
from fimjax.prior.families import FAMILIES
from fimjax.prior.sampler import sample_groups
from research.development import development_part

COLUMNS = ("last season", "last three", "all")


class Setting(NamedTuple):
    """Season, horizon and lengths of one kind of series."""

    season: int
    horizon: int  # a multiple of the season
    history: int  # longest history
    shortest: int  # shortest history
    origins: tuple[int, ...]


SETTINGS = {
    "m4_yearly": Setting(1, 6, 30, 14, (1, 2, 3, 4, 5)),
    "m4_quarterly": Setting(4, 8, 64, 24, (1, 2, 3)),
    "m4_monthly": Setting(12, 24, 144, 48, (1, 2)),
}
WINDOWS, GROUPS, GROUP_SIZE = 9, 80, 64


class Changes(NamedTuple):
    """Changes per season of B series, in units of their mean absolute changes."""

    before: np.ndarray  # [B, 3], in the last season, the last three seasons, the whole history
    after: np.ndarray  # [B]


def measure_changes(histories: list[np.ndarray], futures: list[np.ndarray], season: int) -> Changes:
    """Measures past and future changes; series of up to three seasons and constant series are left out.

    Args:
        histories: B arrays.
        futures: B arrays whose length is a multiple of the season.
    """
    before, after = [], []
    for y, future in zip(histories, futures):
        y, future = np.asarray(y, np.float64), np.asarray(future, np.float64)
        mean_at = lambda end: y[end - season : end].mean()
        unit = np.abs(y[season:] - y[:-season]).mean() if len(y) > 3 * season else 0.0
        if unit == 0.0:
            continue
        latest, n = mean_at(len(y)), len(y)
        three, every = min(3 * season, n - season), n - season
        changes = [(latest - mean_at(n - span)) * season / span for span in (season, three, every)]
        before.append(np.array(changes) / unit)
        after.append((future[-season:].mean() - latest) * season / len(future) / unit)
    return Changes(np.clip(before, -4.0, 4.0), np.clip(after, -6.0, 6.0))


def least_absolute(features: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Coefficients [1 + F] of the least absolute deviations regression, the constant first."""
    n, design = len(target), np.column_stack([np.ones(len(target)), features])
    # A linear program: each residual is the difference of two nonnegative numbers, whose sum is minimised.
    cost = np.concatenate([np.zeros(design.shape[1]), np.ones(2 * n)])
    bounds = [(None, None)] * design.shape[1] + [(0, None)] * (2 * n)
    parts = sparse.hstack([design, sparse.eye_array(n), -sparse.eye_array(n)])
    found = linprog(cost, A_eq=parts, b_eq=target, bounds=bounds)
    return found.x[: design.shape[1]]


def data_series(name: str, origin: int, sample: int, folder: Path | None) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Histories in a data set's training parts up to an origin, and the values that follow."""
    setting, dataset = SETTINGS[name], load_dataset(name, folder)
    info = dataclasses.replace(dataset.info, horizon=setting.horizon)
    part = development_part(dataclasses.replace(dataset, info=info), origin)
    long = np.array([i for i, y in enumerate(part.histories) if len(y) >= setting.shortest])
    part = take_sample(part.take(long), sample)
    return [y[-setting.history :] for y in part.histories], list(part.future)


def prior_series(setting: Setting, prior: PriorConfig, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Histories of the prior with this season, and the values that follow."""
    weights = _weights_given(setting.season, prior)
    seasons = (setting.season,)
    prior = dataclasses.replace(
        prior, weights=weights, group_size=GROUP_SIZE, seasons=seasons, missing=0.0, irregular=0.0
    )
    steps = setting.horizon
    windows = WindowConfig(count=WINDOWS, slots=steps, min_steps=steps, max_steps=steps, min_history=3)
    drawn = jax.jit(lambda key: sample_groups(key, 0, GROUPS, prior, windows))(jax.random.key(seed))
    noisy, valid = np.asarray(drawn.noisy), np.asarray(drawn.valid)
    histories = [y[:-1][is_valid[:-1]][-setting.history :] for y, is_valid in zip(noisy, valid)]
    long = [i for i, y in enumerate(histories) if len(y) >= setting.shortest]
    return [histories[i] for i in long], list(noisy[long, -1])


def _weights_given(season: int, prior: PriorConfig) -> PriorWeights:
    """Weights of the families among series of one season."""
    shares = {}
    for name, weight in dataclasses.asdict(prior.weights).items():
        seasons = [s for s in FAMILIES[name].seasons if s in prior.seasons] or prior.seasons
        shares[name] = weight * np.mean(np.array(seasons) == season)
    least = max(shares.values()) / 25  # a family with a positive weight gets at least one series of each group
    return PriorWeights(**{name: float(max(share, least) if share else 0.0) for name, share in shares.items()})


def describe(changes: Changes) -> dict[str, float]:
    """A row of the table."""
    coefficients = least_absolute(changes.before, changes.after)[1:]
    return {"series": len(changes.after), **dict(zip(COLUMNS, coefficients)), "together": coefficients.sum()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=1_000, help="series of each data set and origin (default: 1000)")
    parser.add_argument("--data", type=Path, help="data folder (default: FIMJAX_DATA or the user's cache)")
    arguments = parser.parse_args()
    rows = {}
    try:
        for name, setting in SETTINGS.items():
            for origin in setting.origins:
                series = data_series(name, origin, arguments.sample, arguments.data)
                rows[f"{name} {origin}"] = describe(measure_changes(*series, setting.season))
            series = prior_series(setting, get_config().prior)
            rows[f"prior, season {setting.season}"] = describe(measure_changes(*series, setting.season))
    except EvaluationError as error:
        print(f"persistence: {error}", file=sys.stderr)
        return 2
    print(pd.DataFrame(rows).T.astype({"series": int}).to_string(float_format="{:.2f}".format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
