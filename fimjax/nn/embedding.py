"""Linear embeddings of values, times and window statistics (phi_0, phi_1, phi_4, sigma_0)."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp


class Embedding(nn.Module):
    """A linear map of a few numbers into the width of the network.

    It is computed in float32 whatever the network's type: bfloat16 has eight bits of mantissa, and 128 times in
    [0, 1] would collapse into each other before the first layer saw them. The precision is said outright, for the
    default of TPUs and recent GPUs is to round the factors of float32 products.
    """

    width: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, features: jax.Array) -> jax.Array:
        """[..., F] -> [..., D]"""
        return nn.Dense(self.width, dtype=jnp.float32, precision="highest")(features).astype(self.dtype)
