"""How much of a step is trend: years have trends, days have errors.

Drift adds up with the number of steps, errors with its root. So a step of which a year has n shows 1 / sqrt(n) of the
trend, beside its errors, that a yearly step shows. The season says what a step is: twelve to a season are months, seven
are days. Where there is none (1) a step counts as a year; so do those of hidden seasons, but only to the model.
"""

import jax
import jax.numpy as jnp

STEPS_A_YEAR = {1: 1, 2: 2, 3: 3, 4: 4, 6: 6, 12: 12, 13: 13, 52: 52}
"""By the length of the season; all others are shorter than a year."""
SLOWEST = 0.1
"""Of days and of all that is shorter: a hundredth of a year or less."""


def pace(season: jax.Array) -> jax.Array:
    """1 of a year, 1/2 of a quarter, 0.29 of a month, 0.14 of a week, 0.1 of a day or an hour."""
    found = jnp.full(jnp.shape(season), SLOWEST)
    for length, steps in STEPS_A_YEAR.items():
        found = jnp.where(season == length, steps**-0.5, found)
    return found


def trend_scale(season: jax.Array) -> jax.Array:
    """What trends of a family are multiplied by: 1 of years, for which the ranges of the families are made, 0.36 of
    quarters, 0.2 of months, 0.13 of weeks, 0.11 of days."""
    return 0.1 + 0.9 * pace(season) ** 1.8


def drift(season: jax.Array) -> jax.Array:
    """How often there is steady growth, beside years: 0.71 times as often in quarters, 0.54 in months, 0.21 in weeks,
    0.13 in days."""
    return jnp.sqrt(pace(season)) * jnp.minimum(4.0 * pace(season), 1.0)


UPWARD = 0.85
"""Share of yearly trends that rise: most of what people count and sell grows."""


def upward(season: jax.Array, yearly: float = UPWARD) -> jax.Array:
    """Share of trends that rise, between that of years and one half: 0.85 of quarters as of years, 0.75 of months, 0.65
    of weeks, 0.62 of days."""
    return 0.5 + (yearly - 0.5) * jnp.minimum(2.2 * pace(season), 1.0) ** 0.7


def of_years(season: jax.Array, times: float) -> jax.Array:
    """A factor for what years have more of: `times` of years, its sixteenth root of quarters, hardly any of less."""
    return times ** pace(season) ** 4
