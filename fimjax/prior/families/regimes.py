"""Series that change their mind: level shifts, and two regimes of mean reversion that take turns."""

import jax
import jax.numpy as jnp
from jax import lax, random

from fimjax.prior.distributions import innovations, log_uniform, normal
from fimjax.prior.path import Path, exact
from fimjax.prior.seasonal import repeat, seasonal_pattern


def last_renewal(is_renewed_N: jax.Array) -> jax.Array:
    """Index of the latest renewal at or before each step, 0 before the first."""
    return lax.cummax(jnp.where(is_renewed_N, jnp.arange(is_renewed_N.shape[0]), 0))


def two_state_chain(numbers_2N: jax.Array, leave_first: jax.Array, leave_second: jax.Array) -> jax.Array:
    """Markov chain [N] of booleans with the given chances of leaving False and True, their sum at most 1.

    Such a chain redraws its state from the stationary distribution with chance leave_first + leave_second and keeps it
    otherwise, which needs no recursion.
    """
    leave = leave_first + leave_second
    states_N = numbers_2N[0] < leave_first / leave
    return states_N[last_renewal(numbers_2N[1] < leave)]


def mean_reversion(pull_N: jax.Array, mean_N: jax.Array, noise_N: jax.Array) -> jax.Array:
    """x_t = x_(t-1) + pull_t (mean_t - x_(t-1)) + noise_t, from the first mean on."""

    def step(x, inputs):
        pull, mean, noise = inputs
        x = x + pull * (mean - x) + noise
        return x, x

    return lax.scan(step, mean_N[0], (pull_N, mean_N, noise_N), unroll=8)[1]


def level_shifts(numbers: jax.Array, numbers_2N: jax.Array, noise_N: jax.Array) -> Path:
    """Levels N(0, 1), each for 15 to 250 steps on average, plus a line (half) and noise of deviation 0.02 to 0.5.

    Args:
      numbers: 4 uniform numbers.
      numbers_2N: 2 uniform numbers a step.
      noise_N: unit noise.
    """
    stay, size, uses_slope, roughness = numbers
    level_N = normal(numbers_2N[0])[last_renewal(numbers_2N[1] * log_uniform(stay, 15.0, 250.0) < 1.0)]
    slope = 0.01 * normal(size) * (uses_slope < 0.5)
    clean_N = level_N + slope * jnp.arange(noise_N.shape[0])
    return Path(clean=clean_N, noisy=clean_N + log_uniform(roughness, 0.02, 0.5) * noise_N)


def switching(numbers: jax.Array, numbers_2N: jax.Array, noise_N: jax.Array) -> Path:
    """Ornstein-Uhlenbeck regimes after TempoPFN: calm (strong pull, little noise) and wild (weak pull, much noise).

    Pull 0.15 to 0.8 a step against 0.01 to 0.15, means N(-1, 1) and N(1, 1), noise 0.05 to 0.4 against 0.2 to 1;
    chances to leave a regime 0.002 to 0.15.

    Args:
      numbers: 8 uniform numbers.
      numbers_2N: 2 uniform numbers a step.
      noise_N: unit noise.
    """
    leave_calm, leave_wild = log_uniform(numbers[:2], 0.002, 0.15)
    is_wild_N = two_state_chain(numbers_2N, leave_calm, leave_wild)
    calm_mean, wild_mean = normal(numbers[2:4]) + jnp.array([-1.0, 1.0])
    calm_pull, wild_pull, calm_scale, wild_scale = numbers[4:]
    pull_N = jnp.where(is_wild_N, log_uniform(wild_pull, 0.01, 0.15), log_uniform(calm_pull, 0.15, 0.8))
    mean_N = jnp.where(is_wild_N, wild_mean, calm_mean)
    scale_N = jnp.where(is_wild_N, log_uniform(wild_scale, 0.2, 1.0), log_uniform(calm_scale, 0.05, 0.4))
    return exact(mean_reversion(pull_N, mean_N, scale_N * noise_N))


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Level shifts or switching regimes, half each, plus a season of strength 0.1 to 2 in 60 %."""
    number_key, state_key, noise_key, pattern_key = random.split(key, 4)
    n = times_N.shape[0]
    numbers = random.uniform(number_key, (11,))
    kind, is_seasonal, swing = numbers[:3]
    # A series is of one kind only, so both may be made of the same numbers.
    states_2N, noise_N = random.uniform(state_key, (2, n)), innovations(noise_key, n)
    shifts, switches = level_shifts(numbers[3:7], states_2N, noise_N), switching(numbers[3:], states_2N, noise_N)
    strength = log_uniform(swing, 0.1, 2.0) * (is_seasonal < 0.6)
    season_N = strength * repeat(seasonal_pattern(pattern_key, season), season, n)
    return jax.tree.map(lambda a, b: jnp.where(kind < 0.5, a, b) + season_N, shifts, switches)
