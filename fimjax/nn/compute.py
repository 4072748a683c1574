"""Precision and memory options of a network, apart from its architecture."""

from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp


@dataclass(frozen=True)
class Compute:
    """Options that change speed, memory and rounding, but not the parameters."""

    dtype: Any = jnp.float32
    """Dtype of activations and matrix products. Parameters, statistics, softmax, times and loss stay float32."""
    attention: Literal["xla", "cudnn"] = "xla"
    """Attention by XLA, or by cuDNN's fused kernel (bfloat16 on recent NVIDIA GPUs)."""
    remat: bool = False
    """Recompute transformer layers in the backward pass to save memory."""


PLAIN = Compute()
"""float32 with XLA's attention, as on a CPU."""
