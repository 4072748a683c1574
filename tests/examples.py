"""Small models and random windows that several tests share."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from fimjax.config import DeepONetConfig, FIMConfig, FIMLocalConfig
from fimjax.models import build_model, init_params
from fimjax.nn.compute import Compute
from fimjax.nn.windows import Windows

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
LOCAL = FIMLocalConfig(width=16, heads=2, layers=2, feedforward=2, trunk_layers=2, projection=(2, 2, 2, 1))
FORECASTER = FIMConfig(local=LOCAL, windows=4, heads=2, layers=2, feedforward=2)
OPERATOR = DeepONetConfig(sensors=16, width=16, features=8, layers=2)

RICH_LOCAL = dataclasses.replace(LOCAL, quantile_levels=LEVELS, season_harmonics=2)
RICH_FORECASTER = dataclasses.replace(FORECASTER, local=RICH_LOCAL, positional_encoding=True, learned_scale=True)
QUERYING_LOCAL = dataclasses.replace(RICH_LOCAL, layers=1, query_layers=1, polynomials=True, time_waves=3)
QUERYING_FORECASTER = dataclasses.replace(
    FORECASTER,
    local=QUERYING_LOCAL,
    layers=1,
    query_layers=1,
    anchor_heads=2,
    smoothers=True,
    anchor_base=True,
    knows_floor=True,
    unit_by_share=True,
    placed_points=True,
    freeze_local=False,
)


@functools.partial(jax.jit, static_argnums=0)
def apply(model, variables, *inputs):
    """A model's answer; compiled once for each model and shape."""
    return model.apply(variables, *inputs)


@functools.cache
def with_params(config, seed=0, dtype=jnp.float32):
    """A model and parameters away from their initial zeros, so that every part shows in the output."""
    model = build_model(config, Compute(dtype))
    params = jax.jit(lambda key: init_params(model, key))(jax.random.key(seed))
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(seed + 1), len(leaves))
    moved = [x + 0.1 * jax.random.normal(key, x.shape) for x, key in zip(leaves, keys)]
    return model, {"params": jax.tree.unflatten(tree, moved)}


def random_window(seed=0, batch=3, slots=12, share=0.7):
    """Values, times and mask [B, T], with at least three observed points each."""
    values_key, times_key, mask_key = jax.random.split(jax.random.key(seed), 3)
    values = 5 + 2 * jax.random.normal(values_key, (batch, slots))
    times = jnp.sort(jax.random.uniform(times_key, (batch, slots), minval=0.0, maxval=slots), axis=-1)
    mask = jax.random.bernoulli(mask_key, share, (batch, slots)).at[:, :3].set(True)
    return values, times, mask


def random_windows(seed=0, batch=3, windows=3, slots=8, share=0.7) -> Windows:
    """Windows with gaps; times rise through all windows and end at the origin."""
    values_key, times_key, mask_key = jax.random.split(jax.random.key(seed), 3)
    values = 5 + 2 * jax.random.normal(values_key, (batch, windows, slots))
    jitter = jax.random.uniform(times_key, (batch, windows, slots), minval=0.0, maxval=0.5)
    times = jnp.arange(1.0, windows * slots + 1).reshape(1, windows, slots) - jitter
    mask = jax.random.bernoulli(mask_key, share, (batch, windows, slots)).at[..., :2].set(True)
    return Windows(
        values=values,
        times=times,
        mask=mask,
        origin=jnp.full((batch,), float(windows * slots)),
        duration=jnp.full((batch,), float(slots)),
        steps=jnp.full((batch,), slots),
        season=jnp.array([1, 4, 12, 7, 3][:batch]),
    )


def query_times(windows: Windows, count=5, seed=9) -> jax.Array:
    """Times in the unseen window, [B, Q]."""
    share = jax.random.uniform(jax.random.key(seed), (windows.values.shape[0], count), minval=0.05)
    return windows.origin[:, None] + share * windows.duration[:, None]
