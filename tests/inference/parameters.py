"""Random parameters, made without compiling anything."""

import functools

import jax
import numpy as np

from fimjax.models import build_model, init_params


@functools.cache
def shapes_of(model):
    return jax.eval_shape(lambda: init_params(build_model(model), jax.random.key(0)))


def params_of(config, seed=0):
    """Parameters of a run's model as NumPy arrays."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: 0.3 * rng.normal(size=x.shape).astype(x.dtype), shapes_of(config.model))
