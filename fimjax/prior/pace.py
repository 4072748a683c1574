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


def momentum(season: jax.Array) -> jax.Array:
    """What trends of a family are multiplied by: 1 of years, for which the ranges of the families are made, 0.6 of
    quarters, 0.35 of months, 0.17 of weeks, 0.12 of days."""
    return jnp.minimum(1.2 * pace(season), 1.0)


UPWARD = 0.85
"""Share of yearly trends that rise: most of what people count and sell grows."""


def upward(season: jax.Array, yearly: float = UPWARD) -> jax.Array:
    """Share of trends that rise, between that of years and one half: 0.77 of quarters, 0.71 of months, 0.64 of weeks,
    0.62 of days, where 0.85 of years do."""
    return 0.5 + (yearly - 0.5) * jnp.sqrt(momentum(season))


def of_years(season: jax.Array, times: float) -> jax.Array:
    """A factor for what years have more of: `times` of years, its sixteenth root of quarters, hardly any of less."""
    return times ** pace(season) ** 4
