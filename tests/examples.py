"""Small models and random windows that several tests share."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from fimjax.config import (
    DeepONetConfig,
    FIMConfig,
    FIMLocalConfig,
    ModelConfig,
    PriorConfig,
    PriorWeights,
    ReportFIMConfig,
    ReportFIMLocalConfig,
)
from fimjax.models import Params, build_model, init_params
from fimjax.nn.compute import Compute
from fimjax.nn.grid import to_regular_grid
from fimjax.nn.windows import Windows

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
WINDOW_COUNT = 4
"""Windows of the small models, the unseen one included."""

FIM_LOCAL = FIMLocalConfig(
    width=16,
    heads=2,
    layers=1,
    feedforward=2,
    query_layers=1,
    time_harmonics=3,
    season_harmonics=2,
    quantile_levels=LEVELS,
)
FIM = FIMConfig(
    local=FIM_LOCAL, heads=2, layers=1, feedforward=2, query_layers=1, anchor_heads=2, interpolation_weight=0.5
)
REPORT_FIM_LOCAL = ReportFIMLocalConfig(
    width=16, heads=2, layers=1, feedforward=2, trunk_layers=1, projection=(2, 2, 2, 1), quantile_levels=()
)
REPORT_FIM = ReportFIMConfig(local=REPORT_FIM_LOCAL, heads=2, layers=1, feedforward=2)
QUANTILE_REPORT_FIM_LOCAL = dataclasses.replace(REPORT_FIM_LOCAL, quantile_levels=LEVELS)
QUANTILE_REPORT_FIM = dataclasses.replace(
    REPORT_FIM, local=QUANTILE_REPORT_FIM_LOCAL, positional_encoding=True, learned_scale=True
)
DEEPONET = DeepONetConfig(sensors=16, width=16, features=8, layers=2)

ALL_FAMILIES = PriorWeights(
    rbf=1.0,
    periodic=1.0,
    locally_periodic=1.0,
    linear_periodic=1.0,
    chebyshev=1.0,
    dataset_g=1.0,
    smooth=4.0,
    ets=8.0,
    sarima=2.0,
    local_linear_trend=2.0,
    random_walk=4.0,
    growing=4.0,
    regimes=1.0,
    counts=1.0,
)
ALL_EFFECTS = PriorConfig(
    weights=ALL_FAMILIES,
    group_size=32,
    seasons=(1, 4, 7, 12, 24, 52),
    short_history=0.6,
    daily_pattern=0.7,
    weekly_pattern=0.6,
    growth=0.9,
    cycles=0.8,
    jumps=0.25,
    exponential=0.6,
    noise=0.7,
    process_noise=0.15,
    level_noise=0.6,
    outliers=0.05,
    irregular=0.2,
    missing=0.4,
    hidden_season=0.15,
    wrong_season=0.03,
    hidden_floor=0.4,
)
"""A prior with every family and every effect."""


compiled_regular_grid = jax.jit(
    to_regular_grid, static_argnums=(1, 2, 3), static_argnames=("context", "horizon", "harmonics")
)
"""`to_regular_grid`, compiled as a whole: step by step it takes much longer."""


@functools.partial(jax.jit, static_argnums=0, static_argnames="method")
def apply(model, variables, *inputs, method=None):
    """The output of a model or of one of its methods; compiled once for each model and shape."""
    return model.apply(variables, *inputs, method=method)


@functools.cache
def with_params(config: ModelConfig, seed: int = 0, dtype=jnp.float32):
    """A model, and parameters away from their initial zeros, so that every part shows in the output."""
    model = build_model(config, WINDOW_COUNT, Compute(dtype))

    @jax.jit
    def draw(init_key, noise_key):
        leaves, tree = jax.tree.flatten(init_params(model, init_key))
        keys = jax.random.split(noise_key, len(leaves))
        moved = [x + 0.1 * jax.random.normal(key, x.shape) for x, key in zip(leaves, keys)]
        return jax.tree.unflatten(tree, moved)

    return model, {"params": draw(jax.random.key(seed), jax.random.key(seed + 1))}


def parameters_without_gradient(gradients: Params) -> set[str]:
    """Names of the parameters whose gradient is zero, such as local/summary/query."""
    path = lambda keys: jax.tree_util.keystr(keys, simple=True, separator="/")
    leaves = jax.tree_util.tree_leaves_with_path(gradients)
    return {path(keys) for keys, gradient in leaves if not jnp.any(gradient)}


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
