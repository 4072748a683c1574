"""The registry of families, by the names that PriorWeights gives them."""

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
from fimjax.prior.family import Family, Traits

MARKET_SEASONS = (1, 1, 4, 5, 7, 7, 7, 7, 7, 12, 12, 24, 52, 52, 52)
"""Prices and rates are mostly quoted by the day and by the week."""
ECONOMIC_SEASONS = (1, 1, 1, 1, 1, 4, 12)
"""Incomes and populations are counted by the year, the quarter and the month."""

FUNCTION = Traits(is_continuous=True)
PROCESS = Traits(is_continuous=False, has_own_noise=True)

FAMILIES: dict[str, Family] = {
    "rbf": Family(gaussian_process.draw_rbf, FUNCTION),
    "periodic": Family(gaussian_process.draw_periodic, FUNCTION),
    "locally_periodic": Family(gaussian_process.draw_locally_periodic, FUNCTION),
    "linear_periodic": Family(gaussian_process.draw_linear_periodic, FUNCTION),
    "chebyshev": Family(chebyshev.draw, FUNCTION),
    "dataset_g": Family(dataset_g.draw, FUNCTION),
    "smooth": Family(smooth.draw, FUNCTION),
    "ets": Family(ets.draw, PROCESS),
    "sarima": Family(sarima.draw, PROCESS),
    "local_linear_trend": Family(local_linear_trend.draw, PROCESS),
    "random_walk": Family(random_walk.draw, PROCESS._replace(may_add_structure=False), MARKET_SEASONS),
    "growing": Family(
        growing.draw,
        PROCESS._replace(may_add_structure=False, may_exponentiate=False, is_nonnegative=True),
        ECONOMIC_SEASONS,
    ),
    "regimes": Family(regimes.draw, PROCESS),
    "counts": Family(
        counts.draw,
        Traits(
            is_continuous=False,
            may_add_structure=False,
            may_exponentiate=False,
            may_add_noise=False,
            is_nonnegative=True,
        ),
    ),
}
