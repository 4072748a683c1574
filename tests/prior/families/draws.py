"""Draws of a family for tests."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.prior.family import Path
from tests.prior.quick import quick_jit


def draws(draw: Callable[..., Path], number: int, steps: int = 400, season: int = 1) -> Path:
    """Paths [number, steps] of a family."""
    keys = jax.random.split(jax.random.key(0), number)
    path = quick_jit(jax.vmap(lambda key: draw(key, jnp.arange(float(steps)), jnp.int32(season))))(keys)
    return jax.tree.map(np.asarray, path)


def lag_one(x: np.ndarray) -> float:
    """Autocorrelation of successive values, over all rows."""
    x = x - x.mean(axis=1, keepdims=True)
    return float((x[:, 1:] * x[:, :-1]).mean() / x.var())
