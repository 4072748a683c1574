"""Linear embeddings of values, times and window statistics (phi_0, phi_1, phi_4, sigma_0)."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp


class Embedding(nn.Module):
    """A linear map of a few numbers into the width of the network.

    It is computed in float32 whatever the network's dtype, because bfloat16 has an eight-bit mantissa and would merge
    neighbouring ones of 128 times in [0, 1]. The precision is explicit because TPUs and recent GPUs round the factors
    of float32 products by default.
    """

    width: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, features: jax.Array) -> jax.Array:
        """Maps [..., F] to [..., D]."""
        return nn.Dense(self.width, dtype=jnp.float32, precision="highest")(features).astype(self.dtype)
