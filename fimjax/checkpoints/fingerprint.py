"""A short hash that identifies a model's forecasts."""

import hashlib
from importlib import metadata

import jax
import numpy as np

from fimjax.config import ModelConfig, WindowConfig
from fimjax.models import Params


def fingerprint(model: ModelConfig, windows: WindowConfig, params: Params) -> str:
    """Changes with the weights, with the windows that inference reads, and with fimjax's version."""
    settings = (metadata.version("fimjax"), model, windows)
    digest = hashlib.sha256(repr(settings).encode())
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        digest.update(jax.tree_util.keystr(path).encode())
        digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()[:16]
