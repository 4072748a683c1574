"""The registry of families, by the names that PriorWeights gives them."""

from collections.abc import Callable
from typing import NamedTuple

import jax

from fimjax.prior.families import (
    chebyshev,
    counts,
    dataset_g,
    ets,
    gaussian_process,
    growing,
    local_linear_trend,
    random_walk,
    regimes,
    sarima,
    smooth,
)
from fimjax.prior.path import Path


class Family(NamedTuple):
    """How to draw one series, and what the observation model may do to it."""

    draw: Callable[[jax.Array, jax.Array, jax.Array], Path]  # (key, times [N], season) -> Path of N steps
    continuous: bool  # defined at any times, so that they may be irregular
    may_exponentiate: bool = True
    may_grow: bool = True
    may_be_noisy: bool = True
    has_zero: bool = False  # below which it does not fall
    has_errors: bool = False  # of its own, so that noise on top is seldom due
    seasons: tuple[int, ...] = ()  # those it is drawn with, as far as the config has them; () for the config's


MARKETS = (1, 1, 4, 5, 7, 7, 7, 7, 7, 12, 12, 24, 52, 52, 52)
"""Prices and rates wander from day to day and from week to week."""
ECONOMIES = (1, 1, 1, 1, 1, 4, 12)
"""What grows is counted by the year, the quarter, the month."""

FAMILIES: dict[str, Family] = {
    "rbf": Family(gaussian_process.draw_rbf, continuous=True),
    "periodic": Family(gaussian_process.draw_periodic, continuous=True),
    "locally_periodic": Family(gaussian_process.draw_locally_periodic, continuous=True),
    "linear_periodic": Family(gaussian_process.draw_linear_periodic, continuous=True),
    "chebyshev": Family(chebyshev.draw, continuous=True),
    "dataset_g": Family(dataset_g.draw, continuous=True),
    "smooth": Family(smooth.draw, continuous=True),
    "ets": Family(ets.draw, continuous=False, has_errors=True),
    "sarima": Family(sarima.draw, continuous=False, has_errors=True),
    "local_linear_trend": Family(local_linear_trend.draw, continuous=False, has_errors=True),
    "random_walk": Family(random_walk.draw, continuous=False, may_grow=False, has_errors=True, seasons=MARKETS),
    "growing": Family(
        growing.draw,
        continuous=False,
        may_exponentiate=False,
        may_grow=False,
        has_zero=True,
        has_errors=True,
        seasons=ECONOMIES,
    ),
    "regimes": Family(regimes.draw, continuous=False, has_errors=True),
    "counts": Family(
        counts.draw, continuous=False, may_exponentiate=False, may_grow=False, may_be_noisy=False, has_zero=True
    ),
}
