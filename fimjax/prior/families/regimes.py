"""Series with regimes: level shifts, or two regimes of mean reversion that alternate."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import innovations, log_uniform, normal, uniform_numbers
from fimjax.prior.family import Path, noise_free
from fimjax.prior.processes import latest_event, mean_reversion
from fimjax.prior.seasonal import repeat, seasonal_pattern


def two_state_chain(
    state_u_N: jax.Array, event_u_N: jax.Array, leave_first: float | jax.Array, leave_second: float | jax.Array
) -> jax.Array:
    """Markov chain [N] of booleans with the given probabilities of leaving False and True, their sum at most 1.

    Such a chain redraws its state from the stationary distribution with probability leave_first + leave_second and
    keeps it otherwise, so no recursion is needed.

    Args:
      state_u_N: uniform numbers, for the states.
      event_u_N: uniform numbers, for the steps at which the state is redrawn.
      leave_first: probability of leaving False in a step.
      leave_second: probability of leaving True in a step.
    """
    leave = leave_first + leave_second
    states_N = state_u_N < leave_first / leave
    return states_N[latest_event(event_u_N < leave)]


def level_shifts(numbers: jax.Array, level_u_N: jax.Array, event_u_N: jax.Array, noise_N: jax.Array) -> Path:
    """Levels N(0, 1), each for 15 to 250 steps on average, plus a line (half) and noise of deviation 0.02 to 0.5.

    Args:
      numbers: 4 uniform numbers.
      level_u_N: uniform numbers, for the levels.
      event_u_N: uniform numbers, for the steps at which the level shifts.
      noise_N: unit noise.
    """
    interval, slope_u, draws_slope, noise_size = numbers
    level_N = normal(level_u_N)[latest_event(event_u_N * log_uniform(interval, 15.0, 250.0) < 1.0)]
    slope = 0.01 * normal(slope_u) * (draws_slope < 0.5)
    clean_N = level_N + slope * jnp.arange(noise_N.shape[0])
    return Path(clean=clean_N, noisy=clean_N + log_uniform(noise_size, 0.02, 0.5) * noise_N)


def switching(numbers: jax.Array, state_u_N: jax.Array, event_u_N: jax.Array, noise_N: jax.Array) -> Path:
    """Two Ornstein-Uhlenbeck regimes after TempoPFN: calm (fast reversion, little noise) and volatile (the opposite).

    Reversion is 0.15 to 0.8 a step against 0.01 to 0.15, means are N(-1, 1) and N(1, 1), noise is 0.05 to 0.4 against
    0.2 to 1. The probabilities of leaving a regime are 0.002 to 0.15.

    Args:
      numbers: 8 uniform numbers.
      state_u_N: uniform numbers, for the regimes.
      event_u_N: uniform numbers, for the steps at which the regime is redrawn.
      noise_N: unit noise.
    """
    leave_u, mean_u, reversion_u, noise_u = numbers.reshape(4, 2)
    leave_calm, leave_volatile = log_uniform(leave_u, 0.002, 0.15)
    is_volatile_N = two_state_chain(state_u_N, event_u_N, leave_calm, leave_volatile)
    calm_mean, volatile_mean = normal(mean_u) + jnp.array([-1.0, 1.0])
    calm_reversion, volatile_reversion = log_uniform(reversion_u[0], 0.15, 0.8), log_uniform(reversion_u[1], 0.01, 0.15)
    calm_noise, volatile_noise = log_uniform(noise_u[0], 0.05, 0.4), log_uniform(noise_u[1], 0.2, 1.0)
    reversion_N = jnp.where(is_volatile_N, volatile_reversion, calm_reversion)
    mean_N = jnp.where(is_volatile_N, volatile_mean, calm_mean)
    deviation_N = jnp.where(is_volatile_N, volatile_noise, calm_noise)
    return noise_free(mean_reversion(reversion_N, mean_N, deviation_N * noise_N))


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Level shifts or switching regimes, half each, plus a season of strength 0.1 to 2 in 60 %."""
    number_key, state_key, noise_key, pattern_key = random.split(key, 4)
    n = times_N.shape[0]
    (kind, draws_season, season_size), shape = uniform_numbers(number_key, (3,), (8,))
    # A series is of one kind only, so both kinds may use the same numbers.
    (state_u_N, event_u_N), noise_N = random.uniform(state_key, (2, n)), innovations(noise_key, n)
    shifts = level_shifts(shape[:4], state_u_N, event_u_N, noise_N)
    switches = switching(shape, state_u_N, event_u_N, noise_N)
    strength = log_uniform(season_size, 0.1, 2.0) * (draws_season < 0.6)
    season_N = strength * repeat(seasonal_pattern(pattern_key, season), season, n)
    return jax.tree.map(lambda a, b: jnp.where(kind < 0.5, a, b) + season_N, shifts, switches)
