"""What tells one model's forecasts from another's."""

import hashlib
from importlib import metadata

import jax
import numpy as np

from fimjax.config import Config
from fimjax.inference.predict import Params, inference_config


def fingerprint(config: Config, params: Params) -> str:
    """Changes with the weights, with how a series is read, and with fimjax's version."""
    about = (metadata.version("fimjax"), inference_config(config))
    digest = hashlib.sha256(repr(about).encode())
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        digest.update(jax.tree_util.keystr(path).encode())
        digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()[:16]
