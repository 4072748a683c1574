"""A smooth process plus a season, a straight trend and noise."""

import jax
import jax.numpy as jnp
from jax import random

from fimjax.prior.distributions import leaning_normal, log_uniform
from fimjax.prior.path import Path
from fimjax.prior.timescale import trend_scale, upward
from fimjax.prior.waves import add_waves, smooth_waves

HARMONICS = 5


def draw(key: jax.Array, times_N: jax.Array, season: jax.Array) -> Path:
    """Sum of parts, in units of the smooth process's standard deviation.

    Length scale 3 to 100 % of a span; season (70 %) of 5 harmonics with deviations 1 / k, times 0.1 to 2; trend (70
    %) N(0, 2^2) over the span; white noise 0.01 to 0.5. Without a season, 30 % have an untold period of 3 to 60
    steps. The span is a sixteenth of the simulation up to all of it: windows show only its end, and in a few steps of
    a slow process there would be nothing but a line and noise.
    """
    number_key, smooth_key, season_key, noise_key = random.split(key, 4)
    numbers = random.uniform(number_key, (9,))
    extent, stretch, is_untold, untold, is_seasonal, swing, is_trend, steepness, roughness = numbers
    span = (times_N[-1] - times_N[0]) * log_uniform(extent, 1 / 16, 1.0)
    smooth_N = smooth_waves(smooth_key, times_N, span * log_uniform(stretch, 0.03, 1.0))

    period = jnp.where((season == 1) & (is_untold < 0.3), log_uniform(untold, 3.0, 60.0), season)
    strength = log_uniform(swing, 0.1, 2.0) * (is_seasonal < 0.7) * (period > 1)
    k = jnp.arange(1, HARMONICS + 1)
    season_N = strength * add_waves(random.uniform(season_key, (2, HARMONICS)), times_N, k / period, 1.0 / k)

    rise = 2.0 * trend_scale(season) * leaning_normal(steepness, upward(season)) * (is_trend < 0.7)
    clean_N = smooth_N + season_N + rise * (times_N - times_N[0]) / span
    noise_N = log_uniform(roughness, 0.01, 0.5) * random.normal(noise_key, times_N.shape)
    return Path(clean=clean_N, noisy=clean_N + noise_N)
