"""How long a step lasts, and what follows from it: long steps show trends, short steps show noise.

A trend grows with the number of steps, the sum of errors with its square root. So relative to its noise, a step of
which a year has n shows 1 / sqrt(n) of the trend of a yearly step. The season length tells how long a step is: 12 means
months, 7 means days. A series without a season (1) counts as yearly.
"""

import jax
import jax.numpy as jnp

STEPS_PER_YEAR = {1: 1, 2: 2, 3: 3, 4: 4, 6: 6, 12: 12, 13: 13, 52: 52}
"""By season length. All other seasons belong to days or shorter steps."""
DAILY_TIMESCALE = 0.1
"""The timescale of days and of all shorter steps."""
MONTHLY_TIMESCALE = 0.2
"""Timescales above this belong to years, quarters, months and steps of similar length."""
DAY_SEASONS = (24, 48, 96)
"""Season lengths that are one day: hours, half hours, quarter hours."""
DAYS_PER_WEEK = 7
YEARLY_SHARE_RISING = 0.85
"""Share of yearly trends that rise: most quantities that people count and sell grow."""


def timescale(season: jax.Array) -> jax.Array:
    """1 / sqrt(steps per year): 1 for years, 1/2 for quarters, 0.29 for months, 0.14 for weeks, 0.1 for days, hours."""
    found = jnp.full(jnp.shape(season), DAILY_TIMESCALE)
    for length, steps in STEPS_PER_YEAR.items():
        found = jnp.where(season == length, steps**-0.5, found)
    return found


def is_monthly_or_longer(season: jax.Array) -> jax.Array:
    """Whether a step is a year, a quarter, a month, or of similar length."""
    return timescale(season) > MONTHLY_TIMESCALE


def is_day_season(season: jax.Array) -> jax.Array:
    """Whether the season is one day, so that steps are hours or parts of an hour."""
    return jnp.isin(season, jnp.array(DAY_SEASONS))


def trend_scale(season: jax.Array) -> jax.Array:
    """Factor for the trends of a family: 1 for years, 0.36 for quarters, 0.2 for months, 0.13 for weeks, 0.11 for days.

    The ranges of the families are those of yearly series.
    """
    return 0.1 + 0.9 * timescale(season) ** 1.8


def growth_frequency(season: jax.Array) -> jax.Array:
    """How often series grow, relative to years: 0.71 in quarters, 0.54 in months, 0.21 in weeks, 0.13 in days."""
    return jnp.sqrt(timescale(season)) * jnp.minimum(4.0 * timescale(season), 1.0)


def share_rising(season: jax.Array, yearly: float = YEARLY_SHARE_RISING) -> jax.Array:
    """Share of trends that rise, between the yearly share and one half.

    The default gives 0.85 for years and quarters, 0.75 for months, 0.65 for weeks, 0.62 for days.
    """
    return 0.5 + (yearly - 0.5) * jnp.minimum(2.2 * timescale(season), 1.0) ** 0.7


def yearly_factor(season: jax.Array, factor: float) -> jax.Array:
    """A factor for yearly series: its sixteenth root for quarters, about 1 for shorter steps."""
    return factor ** timescale(season) ** 4
