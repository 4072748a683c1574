"""What becomes of a path on its way to the observer: growth, cycles, jumps, exponentials, noise, outliers, gaps, an
untold season."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import random

from fimjax.config import PriorConfig
from fimjax.prior.distributions import innovations, log_uniform, normal, uniform
from fimjax.prior.effects.calendar import DAYS, ERRORS, counts_hours, with_days, with_weeks
from fimjax.prior.effects.cycle import WAVES, cycle, sees_cycles
from fimjax.prior.effects.jumps import jumping_level
from fimjax.prior.families.regimes import last_renewal
from fimjax.prior.path import Path
from fimjax.prior.timescale import drift, of_years, pace, upward

MIN_RISE = 0.5
"""Least that steady growth takes a series from its first step to its last, in deviations of what it is added to."""
GROWTH_RANGE = (0.03, 0.8)
"""Deviation of the logarithm of an exponentiated series."""
YEARLY_RISE, YEARLY_GROWTH = 2.5, (4.0, 1.25)
"""How many times as far steady growth takes a yearly series, and how many times as wide the ends of GROWTH_RANGE are
for it: in thirty years what grows doubles and doubles again."""
RISING = 0.95
"""Share of steady growth of years that goes up."""
BENDING = 0.8
"""Share of steady growth that bends."""
LEAST_UNIT = 0.1
"""Least that cycles and jumps are measured by, of a path's whole deviation: what is all season has small ones."""
UNREST_RANGE, LEAST_OF_MONTHS = (0.2, 1.2), 0.3
"""Deviation of the errors of seasonal series whose level moves, in units of that movement; months have more of them."""
MAX_EXPONENT = 6.0
MULTIPLICATIVE_SHARE = 0.2
"""Share of multiplicative noise among series that were not exponentiated; those that were have no other kind."""
MAX_FACTOR_EXPONENT = 2.0
STRIDES = (2, 3, 4)
RUNS, STRIDED = 0.25, 0.35
"""Shares, among series with missing points, of those that miss runs and of those observed at a stride."""
MIN_DEVIATION = 1e-3
FLOOR_RANGE = (0.05, 30.0)
"""How far the lowest value of a series that has no zero lies above its floor, in deviations of the series."""


class Measured(NamedTuple):
    """What is measured of a path."""

    clean: jax.Array  # [K, T]
    noisy: jax.Array  # [K, T], with measurement noise and outliers
    has_zero: jax.Array  # whether zero is what it cannot fall below: it grows by shares of itself, or counts


class Spread(NamedTuple):
    """Mean, deviation and mean magnitude of a path where it is seen."""

    mean: jax.Array
    deviation: jax.Array
    magnitude: jax.Array


def spread_of(values_N: jax.Array, exists_N: jax.Array) -> Spread:
    """The spread over the steps that exist; families being of order one, a path that moves less than MIN_DEVIATION is
    flat, and gets its noise in that unit."""
    mean = jnp.mean(values_N, where=exists_N)
    magnitude = jnp.mean(jnp.abs(values_N), where=exists_N)
    deviation = jnp.std(values_N, where=exists_N)
    return Spread(mean, jnp.maximum(deviation, MIN_DEVIATION + 1e-5 * magnitude), magnitude)


class Seasonless(NamedTuple):
    """What a path does beside its season."""

    deviation: jax.Array
    movement: jax.Array  # how far its level goes, from one season to the next, in a step, times the root of a season


def beside_season(values_N: jax.Array, exists_N: jax.Array, season: jax.Array) -> Seasonless:
    """Means over a season, which know nothing of it, and differences from one season to the next.

    The deviation is that of the means or of what is new in each season, whichever is larger.
    """
    total_N = jnp.cumsum(jnp.where(exists_N, values_N - jnp.mean(values_N, where=exists_N), 0.0))
    earlier_N = jnp.arange(values_N.shape[0]) - season
    exists_N = exists_N & (earlier_N >= 0) & exists_N[earlier_N]
    means_N = (total_N - total_N[earlier_N]) / season
    new_N = values_N - values_N[earlier_N]
    some = jnp.any(exists_N)
    over = lambda reduce, x_N: jnp.where(some, reduce(x_N, where=exists_N | ~some), 0.0)
    new = jnp.sqrt(0.5 * over(jnp.mean, jnp.where(exists_N, new_N, 0.0) ** 2))
    # A mean moves by what is new, over a season's length.
    return Seasonless(
        deviation=jnp.maximum(over(jnp.std, means_N), new),
        movement=over(jnp.mean, jnp.abs(jnp.where(exists_N, new_N, 0.0))) / jnp.sqrt(season),
    )


def slopes(numbers: jax.Array, numbers_2N: jax.Array, season: jax.Array) -> jax.Array:
    """Slopes [N] of steady growth, 1 on average: straight, or in a share BENDING kinked every 5 to 40 years, 10 to 80
    quarters or 17 to 140 months or so, to a slope that deviates by 0.3 to 2."""
    bends, stay, size = numbers
    wild = log_uniform(size, 0.3, 2.0) * (bends < BENDING)
    is_kink_N = numbers_2N[1] * log_uniform(stay, 5.0, 40.0) < pace(season)
    return 1.0 + wild * normal(numbers_2N[0])[last_renewal(is_kink_N)]


def steady_growth(exists_N: jax.Array, slopes_N: jax.Array) -> jax.Array:
    """A line of these slopes, which rises by 1 over the steps that exist if they are 1 on average."""
    return jnp.cumsum(jnp.where(exists_N, slopes_N, 0.0)) / jnp.maximum(jnp.sum(exists_N), 1)


def exponentiate(path: Path, spread: Spread, growth: jax.Array) -> Path:
    """y -> exp(g (y - mean) / deviation): growth, season and error become multiplicative."""

    def transform(values_N):
        z_N = (values_N - spread.mean) / spread.deviation
        return jnp.exp((growth * z_N).clip(-MAX_EXPONENT, MAX_EXPONENT))

    return jax.tree.map(transform, path)


def disturb(values: jax.Array, spread: Spread, disturbance: jax.Array, is_factor: jax.Array) -> jax.Array:
    """Add a disturbance given in deviations of the values, or multiply by a factor of that size, which keeps signs."""
    relative = spread.deviation / jnp.maximum(spread.magnitude, 0.5 * spread.deviation)
    exponent = (relative * disturbance).clip(-MAX_FACTOR_EXPONENT, MAX_FACTOR_EXPONENT)
    return jnp.where(is_factor, values * jnp.exp(exponent), values + spread.deviation * disturbance)


def noise_level(kind: jax.Array, size: jax.Array, config: PriorConfig) -> jax.Array:
    """Deviation of the measurement noise of two uniform numbers: log-uniform, or the lab's |N(0, 0.1)|, half each."""
    wide = config.max_noise * log_uniform(size, 0.02, 1.0)
    return jnp.where(kind < 0.5, wide, jnp.minimum(0.1 * jnp.abs(normal(size)), config.max_noise))


def outlier_shifts(u: jax.Array, rate: jax.Array) -> jax.Array:
    """Shifts of 3 to 8 deviations, up or down, at a rate; zero elsewhere.

    A number below the rate is uniform up to it, so it also says which way and how far.
    """
    lean = 2.0 * u / rate - 1.0
    return jnp.where(u < rate, jnp.copysign(uniform(jnp.abs(lean), 3.0, 8.0), lean), 0.0)


def follow_the_clock(
    key: jax.Array,
    numbers: jax.Array,
    path: Path,
    exists_N: jax.Array,
    season: jax.Array,
    may_grow: jax.Array,
    config: PriorConfig,
) -> tuple[Path, jax.Array]:
    """The path with days and weeks, if its season is a day, and whether it has such days.

    Args:
      numbers: 8 + DAYS uniform numbers.
    """
    chosen = lambda is_so, changed, path: jax.tree.map(lambda a, b: jnp.where(is_so, a, b), changed, path)
    may_have = counts_hours(season) & may_grow
    has_days = may_have & (numbers[0] < config.days)
    unit = beside_season(path.noisy, exists_N, season).deviation
    path = chosen(has_days, with_days(key, numbers[1], path, unit, season), path)
    spread = spread_of(path.noisy, exists_N)
    weekly = with_weeks(numbers[3:], path, spread.mean, spread.deviation, season)
    return chosen(may_have & (numbers[2] < config.weeks), weekly, path), has_days


def draw_values(
    key: jax.Array,
    path: Path,
    exists_N: jax.Array,
    steps_KT: jax.Array,
    season: jax.Array,
    may_exponentiate: jax.Array,
    may_grow: jax.Array,
    has_zero: jax.Array,
    noise: jax.Array,
    config: PriorConfig,
) -> Measured:
    """The values measured at the given steps: clean as the truth, noisy with measurement noise and outliers.

    `noise` is the family's part of the share of noisy series; a family without any has no outliers either.

    Noise is drawn for these steps alone, which windows that are thinned to their slots make few. A step given twice
    would get noise twice.
    """
    number_key, noise_key, outlier_key, change_key, cycle_key, day_key = random.split(key, 6)
    numbers = random.uniform(number_key, (32 + DAYS,))
    is_exponential, growth, is_noisy, kind, size, is_factor, has_outliers, rate = numbers[:8]
    grows, way, extent, jumps = numbers[8:12]
    slope_2N, jump_2N = random.uniform(change_key, (2, 2, exists_N.shape[0]))

    path, has_days = follow_the_clock(day_key, numbers[24:], path, exists_N, season, may_grow, config)
    spread = spread_of(path.noisy, exists_N)
    rise = (
        jnp.where(way < upward(season, RISING), 1.0, -1.0)
        * of_years(season, YEARLY_RISE)
        * log_uniform(extent, MIN_RISE, config.max_rise)
        * spread.deviation
        * (may_grow & (grows < config.growth * drift(season)))
    )
    growth_N = rise * steady_growth(exists_N, slopes(numbers[12:15], slope_2N, season))
    unit = beside_season(path.noisy, exists_N, season).deviation
    unit = unit.clip(LEAST_UNIT * spread.deviation, spread.deviation)
    jumps_N = jumping_level(numbers[15:17], jump_2N) * (jumps < config.jumps)
    a_season = season / jnp.maximum(jnp.sum(exists_N), 1)
    waves_3F = random.uniform(cycle_key, (3, WAVES))
    cycle_N = cycle(numbers[18:22], waves_3F, exists_N.shape[0], season, rise * a_season / unit)
    cycle_N = cycle_N * (sees_cycles(season) & (numbers[17] < config.cycles))
    added_N = growth_N + may_grow * unit * (jumps_N + cycle_N)
    path = jax.tree.map(lambda values_N: values_N + added_N, path)

    is_exponential = may_exponentiate & (is_exponential < config.exponential)
    least, most = (end * of_years(season, times) for end, times in zip(GROWTH_RANGE, YEARLY_GROWTH))
    exponentials = exponentiate(path, spread_of(path.noisy, exists_N), log_uniform(growth, least, most))
    path = jax.tree.map(lambda a, b: jnp.where(is_exponential, a, b), exponentials, path)

    spread = spread_of(path.noisy, exists_N)
    is_factor = is_exponential | (is_factor < MULTIPLICATIVE_SHARE)
    level = noise_level(kind, size, config) * (is_noisy < noise * config.noise)
    least, most = jnp.where(season > 6, LEAST_OF_MONTHS, UNREST_RANGE[0]), UNREST_RANGE[1]
    times = jnp.where(has_days, log_uniform(numbers[22], *ERRORS), log_uniform(numbers[22], least, most))
    unrest = beside_season(path.noisy, exists_N, season).movement * times
    is_restless = (noise > 0) & (has_days | ((season > 1) & sees_cycles(season) & (numbers[23] < config.unrest)))
    level = jnp.maximum(level, is_restless * jnp.minimum(unrest / spread.deviation, config.max_noise))
    noise_KT = level * innovations(noise_key, steps_KT.size, heavy_share=0.1).reshape(steps_KT.shape)
    shifts_KT = outlier_shifts(random.uniform(outlier_key, steps_KT.shape), uniform(rate, 0.005, 0.04))
    shifts_KT = shifts_KT * ((noise > 0) & (has_outliers < config.outliers))
    noisy_KT = disturb(path.noisy[steps_KT], spread, noise_KT + shifts_KT, is_factor)
    return Measured(clean=path.clean[steps_KT], noisy=noisy_KT, has_zero=has_zero | is_exponential)


def draw_observed(key: jax.Array, steps_KT: jax.Array, window_slots: jax.Array, config: PriorConfig) -> jax.Array:
    """True [K, T] for the steps observed: all, some at random (losing up to max_missing), a regular stride, or all but
    a run in each window."""
    windows, slots = steps_KT.shape
    numbers = random.uniform(key, (5 + 2 * windows + steps_KT.size,))
    is_missing, kind, rate, stride, offset = numbers[:5]
    begin_K, length_K = numbers[5 : 5 + 2 * windows].reshape(2, windows)
    observed_KT = numbers[5 + 2 * windows :].reshape(steps_KT.shape) >= rate * config.max_missing
    # A run lies anywhere, and may begin before its window or end after it.
    length_K = length_K * config.max_missing
    begin_K = uniform(begin_K, -length_K, 1.0)
    place_KT = jnp.arange(slots)[None, :] / window_slots
    in_run_KT = (place_KT >= begin_K[:, None]) & (place_KT < (begin_K + length_K)[:, None])
    observed_KT = jnp.where(kind < RUNS, ~in_run_KT, observed_KT)
    # A stride s leaves out 1 - 1 / s; those that leave out more than they may are not drawn.
    strides = [s for s in STRIDES if 1 - 1 / s <= config.max_missing]
    if strides:
        stride = jnp.array(strides)[jnp.floor(stride * len(strides)).astype(jnp.int32)]
        at_stride_KT = (steps_KT + jnp.floor(offset * stride).astype(jnp.int32)) % stride == 0
        observed_KT = jnp.where(kind >= 1.0 - STRIDED, at_stride_KT, observed_KT)
    return observed_KT | (is_missing >= config.missing)


def keep_two(observed_KT: jax.Array, valid_KT: jax.Array) -> jax.Array:
    """Observe the last two valid slots of the last seen window and of the target where fewer than two are observed."""
    valid_after_KT = jnp.cumsum(valid_KT[:, ::-1], axis=1)[:, ::-1]
    last_two_KT = valid_KT & (valid_after_KT <= 2)
    is_starved_K = jnp.sum(observed_KT & valid_KT, axis=1) < 2
    is_latest_K = jnp.arange(valid_KT.shape[0]) >= valid_KT.shape[0] - 2
    return (observed_KT & valid_KT) | (last_two_KT & (is_starved_K & is_latest_K)[:, None])


def reported_season(u: jax.Array, season: jax.Array, config: PriorConfig) -> jax.Array:
    """The season as the model hears of it: 1 if it is hidden, another one if it is wrong."""
    seasons = jnp.array(config.seasons, jnp.int32)
    rest = (u - config.hidden_season) / max(config.wrong_season, 1e-6)  # in [0, 1) where it is wrong
    other = seasons[jnp.clip(jnp.floor(rest * seasons.shape[0]).astype(jnp.int32), 0, seasons.shape[0] - 1)]
    told = jnp.where(u < config.hidden_season + config.wrong_season, other, season)
    return jnp.where(u < config.hidden_season, 1, told)


def reported_floor(numbers: jax.Array, values: Measured, valid_KT: jax.Array, config: PriorConfig) -> jax.Array:
    """The bound below which no value lies, as the model hears of it; -inf if it does not.

    It is zero for what has one. Other series lie anywhere above theirs, for amounts that do not grow by shares have a
    floor too, and it tells nothing of them.
    """
    is_hidden, height = numbers
    lowest = jnp.min(values.noisy, where=valid_KT, initial=jnp.inf)
    above = jnp.std(values.noisy, where=valid_KT) * log_uniform(height, *FLOOR_RANGE)
    floor = jnp.where(values.has_zero, jnp.minimum(lowest, 0.0), lowest - above)
    return jnp.where(is_hidden < config.hidden_floor, -jnp.inf, floor)
