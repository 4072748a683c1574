"""Random parameters, made without compiling anything."""

import functools

import jax
import numpy as np

from fimjax.models import build_model, param_shapes


@functools.cache
def shapes_of(model, window_count):
    return param_shapes(build_model(model, window_count))


def params_of(config, seed=0):
    """Parameters of a run's model as NumPy arrays."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda x: 0.3 * rng.normal(size=x.shape).astype(x.dtype), shapes_of(config.model, config.windows.count)
    )
