"""The observation model: the effects that turn the path of a family into measured values, in order of application.

Each effect is one file in `effects/`. Gaps and the reported season and floor follow in the sampler, because they change
what the model sees and not the values.
"""

from collections.abc import Callable

import jax
from jax import random

from fimjax.config import PriorConfig
from fimjax.prior.effects.calendar import daily_and_weekly_patterns
from fimjax.prior.effects.cycle import cycle
from fimjax.prior.effects.exponential import exponential
from fimjax.prior.effects.growth import growth
from fimjax.prior.effects.jumps import jumps
from fimjax.prior.effects.noise import noise
from fimjax.prior.effects.outliers import outliers
from fimjax.prior.effects.state import SeriesState

Effect = Callable[[jax.Array, SeriesState, PriorConfig], SeriesState]

EFFECTS: tuple[Effect, ...] = (
    daily_and_weekly_patterns,
    growth,
    cycle,
    jumps,
    exponential,
    noise,
    outliers,
)


def apply_effects(key: jax.Array, state: SeriesState, config: PriorConfig) -> SeriesState:
    """Apply all effects in order, each with a key of its own."""
    for effect, effect_key in zip(EFFECTS, random.split(key, len(EFFECTS)), strict=True):
        state = effect(effect_key, state, config)
    return state
