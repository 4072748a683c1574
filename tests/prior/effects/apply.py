"""Applies effects to many copies of one path."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.config import PriorConfig
from fimjax.prior.effects.noise import noisy_values
from fimjax.prior.effects.state import SeriesState
from fimjax.prior.family import Path, Traits, noise_free
from fimjax.prior.observation import Effect
from tests.prior.quick import quick_jit

N = 400
QUIET = PriorConfig()
"""A prior without effects."""
EVERYWHERE = jnp.ones(N, bool)
EVERY_STEP = jnp.arange(N)[None]
WAVE = jnp.sin(jnp.arange(N) / 7.0) * 3.0 + 20.0
WAVE_DEVIATION = float(WAVE.std())


@functools.partial(quick_jit, static_argnames=("effects", "config"))
def _apply_all(
    keys: jax.Array,
    path: Path,
    slot_steps_WT: jax.Array,
    season: int,
    traits: Traits,
    effects: tuple[Effect, ...],
    config: PriorConfig,
) -> SeriesState:
    def apply_one(key: jax.Array) -> SeriesState:
        state = SeriesState.start(path, EVERYWHERE, slot_steps_WT, season, traits)
        for effect, effect_key in zip(effects, jax.random.split(key, len(effects))):
            state = effect(effect_key, state, config)
        return state._replace(noise=noisy_values(state))

    return jax.vmap(apply_one)(keys)


def apply(
    effects: Effect | tuple[Effect, ...],
    config: PriorConfig,
    number: int = 500,
    path: Path | None = None,
    slot_steps_WT: jax.Array = EVERY_STEP,
    season: int = 12,
    **traits: bool,
) -> tuple[np.ndarray, np.ndarray, SeriesState]:
    """Clean values [number, N], noisy values [number, W * T] and the states after the effects."""
    effects = effects if isinstance(effects, tuple) else (effects,)
    all_traits = Traits(is_continuous=False)._replace(**traits)
    keys = jax.random.split(jax.random.key(0), number)
    path = noise_free(WAVE) if path is None else path
    state = jax.tree.map(np.asarray, _apply_all(keys, path, slot_steps_WT, season, all_traits, effects, config))
    return state.path.clean, state.noise.reshape(number, -1), state


def changed_share(effects: Effect | tuple[Effect, ...], config: PriorConfig, **options) -> float:
    """Share of the series whose clean path is changed."""
    clean, _, _ = apply(effects, config, **options)
    return float((clean != np.asarray(WAVE)).any(axis=1).mean())
