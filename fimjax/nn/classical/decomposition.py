"""A series taken apart at any times: what moves slowly, and its season.

A discounted ridge regression on slow waves and on harmonics of the season, whose size may grow, is solved twice: where
little is left beside the season, its harmonics are shrunk less. What the harmonics of a long season leave is a mean
over the same phase, and hours have a week, too. Such means are shrunk by how well the phases agree with themselves
(James and Stein), so that a season without errors is told without errors and errors are not told for a season.
"""

import jax
import jax.numpy as jnp

from fimjax.nn.season import waves

HARMONICS, SLOW_WAVES = 6, 6
MEMORY = 3.0
"""Seasons in which an observation loses half of its weight."""
RIDGE_LEVEL, RIDGE_WAVES, RIDGE_SEASON, RIDGE_GROWTH = 1e-3, 0.1, 0.5, 2.0
"""What shrinks each part of the regression, in observations."""
LEAST_SHRINKAGE = 1e-3
"""Of the harmonics at the second time, of what it was at the first."""
MOST_GROWTH = 0.25
"""How far the growth of a season goes on, in spans of the history."""
OF_A_DAY, DAYS = (24, 48, 96), 7
"""Seasons that last a day, of which a week has seven."""
DISBELIEF = 1.0
"""In observations: that phases do not agree with themselves until they have been seen to."""
TINY = 1e-9


def seasonal_parts(
    values: jax.Array, steps: jax.Array, mask: jax.Array, season: jax.Array, ahead: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Slow part and season of the history [B, N], and the season ahead [B, Q].

    Args:
        values, steps, mask: [B, N], steps before the last observation (0, -1, ...).
        season: [B], in steps; 1 = none or unknown.
        ahead: [B, Q], steps after the last observation.
    """
    is_day = jnp.isin(season, jnp.array(OF_A_DAY))
    week = jnp.where(is_day, DAYS * season, season)
    slow, past, future = _regress(values, steps, mask, season, week, ahead)
    for period, is_due in ((season, season > 2 * HARMONICS), (week, is_day)):
        rest = jnp.where(mask, values - slow - past, 0.0)
        seen, expected = phase_means(rest, steps, mask, period, ahead)
        past, future = past + jnp.where(is_due[:, None], seen, 0.0), future + jnp.where(is_due[:, None], expected, 0.0)
    return slow, past, future


def phase_means(
    rest: jax.Array, steps: jax.Array, mask: jax.Array, period: jax.Array, ahead: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Discounted means of what is left [B, N] over the same phase of a period [B], for the history and for the times
    ahead, shrunk by the ratio of the variance within phases to that between them."""
    length = period.astype(jnp.float32)[:, None]
    discount = jnp.where(mask, 2.0 ** (steps / (MEMORY * length)), 0.0)
    phase = lambda x: jnp.mod(x, length)

    def weigh(asked: jax.Array) -> jax.Array:  # [B, asked, N], none to what is a step or more out of phase
        apart = jnp.abs(phase(asked)[:, :, None] - phase(steps)[:, None, :])
        apart = jnp.minimum(apart, length[:, :, None] - apart)
        return jnp.maximum(0.0, 1.0 - apart**2) ** 2 * discount[:, None, :]

    add_up = lambda weights, x: jnp.einsum("bqn,bn->bq", weights, x, precision="highest")
    weights, of_future = weigh(steps), weigh(ahead)
    size = jnp.maximum(jnp.sum(weights, axis=-1), TINY)
    mean = add_up(weights, rest) / size
    share = jnp.minimum(jnp.sum(weights**2, axis=-1) / size**2, 1.0)  # of an observation's error that its mean has
    total = lambda x: jnp.sum(jnp.where(mask, x, 0.0), axis=-1)
    count = jnp.maximum(jnp.sum(mask, axis=-1), 1)
    whole = total(rest**2) / count
    within = (total((rest - mean) ** 2) + DISBELIEF * whole) / (total(1.0 - share) + DISBELIEF)
    between = jnp.maximum((total(mean**2) - within * total(share)) / count, 1e-6 * whole + TINY**2)
    ridge = (within / between)[:, None]
    seen = jnp.where(mask, mean * size / (size + ridge), 0.0)
    return seen, add_up(of_future, rest) / (jnp.sum(of_future, axis=-1) + ridge + TINY)


def _regress(
    values: jax.Array, steps: jax.Array, mask: jax.Array, season: jax.Array, week: jax.Array, ahead: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Slow part and harmonics of the history, and harmonics ahead; what is slow is slower than half a week [B]."""
    span = jnp.maximum(-jnp.min(jnp.where(mask, steps, 0.0), axis=-1), 1.0)
    length = season.astype(jnp.float32)
    weights = jnp.where(mask, 2.0 ** (steps / (MEMORY * length)[:, None]), 0.0)
    seasonal, of_future = (_seasonal_features(s, span, season) for s in (steps, ahead))
    slow = _slow_features(steps, span, week.astype(jnp.float32))
    design = jnp.concatenate([slow, seasonal], axis=-1)  # [B, N, F]
    weighted = design * weights[..., None]
    products = jnp.einsum("bnf,bng->bfg", weighted, design, precision="highest")
    targets = jnp.einsum("bnf,bn->bf", weighted, values, precision="highest")
    read = lambda features, part: jnp.einsum("bnf,bf->bn", features, part, precision="highest")

    def fit(shrinkage: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        parts = zip(_PARTS, (RIDGE_LEVEL, RIDGE_WAVES, RIDGE_SEASON * shrinkage, RIDGE_GROWTH))
        ridge = jnp.concatenate([jnp.broadcast_to(size, (len(values), n)) for n, size in parts], axis=-1)
        found = solve(products + jax.vmap(jnp.diag)(ridge), targets)
        of_slow, of_season = found[:, : slow.shape[-1]], found[:, slow.shape[-1] :]
        return read(slow, of_slow), read(seasonal, of_season), read(of_future, of_season)

    level, past, _ = fit(jnp.ones((len(values), 1)))
    energy = lambda x: jnp.sum(weights * x**2, axis=-1)
    left = energy(values - level - past) / (energy(past) + TINY)
    shrinkage = left + (length / span) ** 2  # of one season, nothing is left
    return fit(jnp.clip(shrinkage, LEAST_SHRINKAGE, 1.0)[:, None])


def solve(matrices: jax.Array, targets: jax.Array) -> jax.Array:
    """Solutions [B, F] of positive definite systems [B, F, F], [B, F], by elimination.

    Written out, for LAPACK's are calls that several devices of one processor wait for each other in.
    """

    def eliminate(k: int, system: jax.Array) -> jax.Array:
        row = system[:, k] / system[:, k, k][:, None]
        rest = system - system[:, :, k][:, :, None] * row[:, None, :]
        return rest.at[:, k].set(row)

    system = jnp.concatenate([matrices, targets[..., None]], axis=-1)
    return jax.lax.fori_loop(0, targets.shape[-1], eliminate, system)[..., -1]


_PARTS = (2, SLOW_WAVES, 2 * HARMONICS, 2 * HARMONICS)


def _slow_features(steps: jax.Array, span: jax.Array, length: jax.Array) -> jax.Array:
    """A line, and waves of up to SLOW_WAVES half turns in the span, as far as they are slower than half the season."""
    u = (steps / span[:, None])[..., None]
    k = jnp.arange(1, SLOW_WAVES + 1, dtype=jnp.float32).reshape(1, 1, -1)
    is_slow = k * length[:, None, None] < span[:, None, None]
    return jnp.concatenate([jnp.ones_like(u), u, jnp.cos(jnp.pi * k * u) * is_slow], axis=-1)


def _seasonal_features(steps: jax.Array, span: jax.Array, season: jax.Array) -> jax.Array:
    """Harmonics of the season up to half a turn a step, and the same growing with time."""
    length = season.astype(jnp.float32)[:, None]
    harmonics = waves(jnp.mod(steps, length) / length, HARMONICS)
    k = jnp.tile(jnp.arange(1, HARMONICS + 1), 2).reshape(1, 1, -1)
    harmonics = harmonics * (2 * k <= season[:, None, None])
    growth = jnp.minimum(1.0 + steps / span[:, None], 1.0 + MOST_GROWTH)
    return jnp.concatenate([harmonics, harmonics * growth[..., None]], axis=-1)
