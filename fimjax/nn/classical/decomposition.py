"""Decomposes a series into a slow part and a season, at any times.

A discounted ridge regression on slow waves and on harmonics of the season, whose amplitude may grow, is solved twice.
The second time, the harmonics are shrunk less if the season explains most of the series. What the harmonics of a long
season leave over is averaged by phase, and hourly series also get a weekly season this way. The averages are shrunk by
how well the phases agree with each other (James and Stein), so that a season without noise is kept as it is and noise
is not taken for a season.
"""

import jax
import jax.numpy as jnp

from fimjax.nn.season import fourier_features

HARMONICS, SLOW_WAVES = 6, 6
MEMORY = 3.0
"""Half-life of an observation's weight, in seasons."""
RIDGE_LEVEL, RIDGE_WAVES, RIDGE_SEASON, RIDGE_GROWTH = 1e-3, 0.1, 0.5, 2.0
"""Ridge penalty of each part of the regression, in observations."""
LEAST_SHRINKAGE = 1e-3
"""Smallest factor on the penalty of the harmonics in the second fit."""
MOST_GROWTH = 0.25
"""How far the growth of a season is extrapolated, in spans of the history."""
STEPS_PER_DAY, DAYS_PER_WEEK = (24, 48, 96), 7
"""Seasons that last a day: such series also have a week."""
PRIOR_OBSERVATIONS = 1.0
"""Weight, in observations, of the assumption that phases do not agree."""
TINY = 1e-9


def decompose(
    values: jax.Array, steps: jax.Array, mask: jax.Array, season: jax.Array, query_steps: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Slow part and season of the history, and the season at the query times.

    Args:
        values, steps, mask: [B, N], steps relative to the last observation (0, -1, ...).
        season: [B], in steps; 1 = none or unknown.
        query_steps: [B, Q], steps after the last observation.

    Returns:
        slow part [B, N], season [B, N], season at the query times [B, Q].
    """
    is_day = jnp.isin(season, jnp.array(STEPS_PER_DAY))
    week = jnp.where(is_day, DAYS_PER_WEEK * season, season)
    slow, past, future = _regress(values, steps, mask, season, week, query_steps)
    for period, applies in ((season, season > 2 * HARMONICS), (week, is_day)):
        residuals = jnp.where(mask, values - slow - past, 0.0)
        past_means, future_means = phase_means(residuals, steps, mask, period, query_steps)
        past = past + jnp.where(applies[:, None], past_means, 0.0)
        future = future + jnp.where(applies[:, None], future_means, 0.0)
    return slow, past, future


def phase_means(
    residuals: jax.Array, steps: jax.Array, mask: jax.Array, period: jax.Array, query_steps: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Discounted means of the residuals [B, N] over the same phase of a period [B].

    The means are shrunk by the ratio of the variance within phases to the variance between them.

    Returns:
        means for the history [B, N] and for the query times [B, Q].
    """
    length = period.astype(jnp.float32)[:, None]
    discount = jnp.where(mask, 2.0 ** (steps / (MEMORY * length)), 0.0)
    phase = lambda x: jnp.mod(x, length)

    def weigh(at: jax.Array) -> jax.Array:  # [B, Q, N], zero for points a step or more out of phase
        distance = jnp.abs(phase(at)[:, :, None] - phase(steps)[:, None, :])
        distance = jnp.minimum(distance, length[:, :, None] - distance)
        return jnp.maximum(0.0, 1.0 - distance**2) ** 2 * discount[:, None, :]

    weighted_sum = lambda weights, x: jnp.einsum("bqn,bn->bq", weights, x, precision="highest")
    weights, query_weights = weigh(steps), weigh(query_steps)
    size = jnp.maximum(jnp.sum(weights, axis=-1), TINY)
    mean = weighted_sum(weights, residuals) / size
    # The share of an observation's error variance that remains in its mean.
    share = jnp.minimum(jnp.sum(weights**2, axis=-1) / size**2, 1.0)
    total = lambda x: jnp.sum(jnp.where(mask, x, 0.0), axis=-1)
    count = jnp.maximum(jnp.sum(mask, axis=-1), 1)
    variance = total(residuals**2) / count
    within = total((residuals - mean) ** 2) + PRIOR_OBSERVATIONS * variance
    within = within / (total(1.0 - share) + PRIOR_OBSERVATIONS)
    between = jnp.maximum((total(mean**2) - within * total(share)) / count, 1e-6 * variance + TINY**2)
    ridge = (within / between)[:, None]
    past_means = jnp.where(mask, mean * size / (size + ridge), 0.0)
    future_means = weighted_sum(query_weights, residuals) / (jnp.sum(query_weights, axis=-1) + ridge + TINY)
    return past_means, future_means


def solve(matrices: jax.Array, targets: jax.Array) -> jax.Array:
    """Solves positive definite systems [B, F, F], [B, F] by elimination: [B, F].

    It is written out because LAPACK calls deadlock across several CPU devices.
    """

    def eliminate(k: int, system: jax.Array) -> jax.Array:
        row = system[:, k] / system[:, k, k][:, None]
        rest = system - system[:, :, k][:, :, None] * row[:, None, :]
        return rest.at[:, k].set(row)

    system = jnp.concatenate([matrices, targets[..., None]], axis=-1)
    return jax.lax.fori_loop(0, targets.shape[-1], eliminate, system)[..., -1]


def _regress(
    values: jax.Array, steps: jax.Array, mask: jax.Array, season: jax.Array, week: jax.Array, query_steps: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Slow part and harmonics of the history, and harmonics at the query times. Slow waves last half a week or more."""
    span = jnp.maximum(-jnp.min(jnp.where(mask, steps, 0.0), axis=-1), 1.0)
    length = season.astype(jnp.float32)
    weights = jnp.where(mask, 2.0 ** (steps / (MEMORY * length)[:, None]), 0.0)
    past_season, future_season = (_seasonal_features(s, span, season) for s in (steps, query_steps))
    slow = _slow_features(steps, span, week.astype(jnp.float32))
    design = jnp.concatenate([slow, past_season], axis=-1)  # [B, N, F]
    weighted = design * weights[..., None]
    products = jnp.einsum("bnf,bng->bfg", weighted, design, precision="highest")
    targets = jnp.einsum("bnf,bn->bf", weighted, values, precision="highest")
    predict = lambda features, coefficients: jnp.einsum("bnf,bf->bn", features, coefficients, precision="highest")

    def fit(shrinkage: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        sizes: tuple[jax.typing.ArrayLike, ...] = (RIDGE_LEVEL, RIDGE_WAVES, RIDGE_SEASON * shrinkage, RIDGE_GROWTH)
        penalties = zip(_PART_SIZES, sizes)
        ridge = jnp.concatenate([jnp.broadcast_to(size, (values.shape[0], n)) for n, size in penalties], axis=-1)
        coefficients = solve(products + jax.vmap(jnp.diag)(ridge), targets)
        of_slow, of_season = coefficients[:, : slow.shape[-1]], coefficients[:, slow.shape[-1] :]
        return predict(slow, of_slow), predict(past_season, of_season), predict(future_season, of_season)

    level, past, _ = fit(jnp.ones((values.shape[0], 1)))
    energy = lambda x: jnp.sum(weights * x**2, axis=-1)
    unexplained = energy(values - level - past) / (energy(past) + TINY)
    # A single season explains everything, so short histories keep their shrinkage.
    shrinkage = unexplained + (length / span) ** 2
    return fit(jnp.clip(shrinkage, LEAST_SHRINKAGE, 1.0)[:, None])


_PART_SIZES = (2, SLOW_WAVES, 2 * HARMONICS, 2 * HARMONICS)


def _slow_features(steps: jax.Array, span: jax.Array, length: jax.Array) -> jax.Array:
    """A line, and cosines of up to SLOW_WAVES half periods in the span that are slower than half the season."""
    u = (steps / span[:, None])[..., None]
    k = jnp.arange(1, SLOW_WAVES + 1, dtype=jnp.float32).reshape(1, 1, -1)
    is_slow = k * length[:, None, None] < span[:, None, None]
    return jnp.concatenate([jnp.ones_like(u), u, jnp.cos(jnp.pi * k * u) * is_slow], axis=-1)


def _seasonal_features(steps: jax.Array, span: jax.Array, season: jax.Array) -> jax.Array:
    """Harmonics of the season up to half a period a step, and the same with an amplitude that grows with time."""
    length = season.astype(jnp.float32)[:, None]
    harmonics = fourier_features(jnp.mod(steps, length) / length, HARMONICS)
    k = jnp.tile(jnp.arange(1, HARMONICS + 1), 2).reshape(1, 1, -1)
    harmonics = harmonics * (2 * k <= season[:, None, None])
    growth = jnp.minimum(1.0 + steps / span[:, None], 1.0 + MOST_GROWTH)
    return jnp.concatenate([harmonics, harmonics * growth[..., None]], axis=-1)
