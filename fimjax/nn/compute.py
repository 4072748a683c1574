"""How a network is computed, apart from what it computes."""

from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp


@dataclass(frozen=True)
class Compute:
    """Choices that change speed, memory and rounding, but neither parameters nor meaning."""

    dtype: Any = jnp.float32
    """Type of activations and products; parameters, statistics, softmax, times and loss stay float32."""
    attention: Literal["xla", "cudnn"] = "xla"
    """Attention as plain products and a softmax, or cuDNN's fused kernel (bfloat16 on recent NVIDIA GPUs)."""
    remat: bool = False
    """Compute the inside of transformer layers anew in the backward pass, instead of keeping it in memory."""


PLAIN = Compute()
"""float32 and no more, as on a CPU."""
