"""Flax parameters of fimjax's models, under the names and in the shapes of benchmarks.torch_models."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

Params = Mapping[str, Any]

RENAMES = (
    (r"embedding\.Dense_0", "embedding"),
    (r"extractor\.DenseBlock_0", "extractor.0"),
    (r"extractor\.Dense_0", "extractor.1"),
    (r"extractor\.Dense_1", "extractor.3"),
    (r"Dense_0", "linear"),
    (r"LayerNorm_0", "norm"),
    (r"block_(\d+)", r"\1"),
    (r"layer_(\d+)", r"layers.\1"),
    (r"norm_0", "norm"),
    (r"(hidden|norm)_2", lambda found: "hidden.1." + {"hidden": "linear", "norm": "norm"}[found[1]]),
    (r"hidden_(\d+)", lambda found: f"hidden.{int(found[1]) - 1}.0"),
    (r"\.(kernel|scale)$", ".weight"),
)
"""What has another name in PyTorch, in the order in which it is replaced; only the last rule meets every module."""


def to_state_dict(params: Params) -> dict[str, Tensor]:
    """What `load_state_dict` takes, from Flax parameters or from anything shaped like them, as their gradients are."""
    state = {}
    for name, x in _leaves(params):
        for pattern, replacement in RENAMES:
            name = re.sub(pattern, replacement, name)
        state[name] = x
    return _pack_projections(state)


def _leaves(params: Params, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    for key, x in params.items():
        name = f"{prefix}{key}"
        if isinstance(x, Mapping):
            yield from _leaves(x, f"{name}.")
        else:
            yield name, _in_torch_shape(name, torch.tensor(np.asarray(x)))


def _in_torch_shape(name: str, x: Tensor) -> Tensor:
    """Heads side by side, and [outputs, inputs] for matrices."""
    if name.endswith("bias"):
        return x.flatten()
    if not name.endswith("kernel"):
        return x
    return (x.flatten(0, -2) if name.endswith("attention.out.kernel") else x.flatten(1)).T.contiguous()


def _pack_projections(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """One matrix for all projections of the same tokens."""
    for name in [name for name in state if ".key." in name and name.replace(".key.", ".value.") in state]:
        parts = ("query", "key", "value") if "encoder" in name else ("key", "value")
        packed = torch.cat([state.pop(name.replace(".key.", f".{part}.")) for part in parts])
        state[name.replace(".key.", f".{'_'.join(parts)}.")] = packed
    return state
