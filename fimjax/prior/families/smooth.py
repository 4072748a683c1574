"""A smooth process plus a season, a straight trend and noise."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import log_uniform, sign_biased_normal
from fimjax.prior.family import Path
from fimjax.prior.spectral import squared_exponential_process, sum_of_cosines
from fimjax.prior.timescale import share_rising, trend_scale

HARMONICS = 5


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Sum of a smooth process, a season, a trend and noise, in standard deviations of the smooth process.

    The length scale is 3 to 100 % of a span, which is a sixteenth of the simulation up to all of it: windows show only
    the end of the simulation, and a few steps of a slow process would be a straight line. The season (70 %) has 5
    harmonics with deviations 1 / k, times 0.1 to 2. The trend (70 %) rises by N(0, 2^2) over the span. White noise has
    a deviation of 0.01 to 0.5. Without a season, 30 % of the series have an unreported period of 3 to 60 steps.
    """
    number_key, smooth_key, season_key, noise_key = random.split(key, 4)
    numbers = random.uniform(number_key, (9,))
    span_u, length_scale, draws_period, period_u, draws_season, season_size, draws_trend, trend_u, noise_size = numbers
    span = (times_N[-1] - times_N[0]) * log_uniform(span_u, 1 / 16, 1.0)
    smooth_N = squared_exponential_process(smooth_key, times_N, span * log_uniform(length_scale, 0.03, 1.0))

    period = jnp.where((season == 1) & (draws_period < 0.3), log_uniform(period_u, 3.0, 60.0), season)
    strength = log_uniform(season_size, 0.1, 2.0) * (draws_season < 0.7) * (period > 1)
    amplitude_u_F, phase_u_F = random.uniform(season_key, (2, HARMONICS))
    harmonic_F = jnp.arange(1, HARMONICS + 1)
    season_N = sum_of_cosines(amplitude_u_F, phase_u_F, times_N, harmonic_F / period, 1.0 / harmonic_F)

    rise = 2.0 * trend_scale(season) * sign_biased_normal(trend_u, share_rising(season)) * (draws_trend < 0.7)
    clean_N = smooth_N + strength * season_N + rise * (times_N - times_N[0]) / span
    noise_N = log_uniform(noise_size, 0.01, 0.5) * random.normal(noise_key, times_N.shape)
    return Path(clean=clean_N, noisy=clean_N + noise_N)
