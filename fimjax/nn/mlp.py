"""The MLPs of the lab report: phi_3, the trunk phi_5 and the projection phi_7."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.nn.packing import Packing, spread


class DenseBlock(nn.Module):
    """Linear layer without a bias, LeakyReLU, LayerNorm, in the order of the report's tables."""

    width: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Maps [..., F] to [..., D]."""
        x = nn.leaky_relu(nn.Dense(self.width, use_bias=False, dtype=self.dtype)(x))
        return nn.LayerNorm(dtype=self.dtype)(x)


class TrunkMLP(nn.Module):
    """phi_5: equal blocks with a LayerNorm after each layer, as in the report's table."""

    width: int
    layers: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Maps [..., Q, D] to the same shape."""
        for i in range(self.layers):
            x = DenseBlock(self.width, self.dtype, name=f"block_{i}")(x)
        return x


class Projection(nn.Module):
    """phi_7: linear layers from (summary, trunk) down to the outputs.

    The report's "5x Linear (2d -> 1)" cannot mean five layers 2d -> 1. Our reading: five linear layers
    2d -> 4d -> 4d -> 4d -> d -> outputs with LeakyReLU between them, and a LayerNorm after the first and the third.

    The first layer is written as the sum of its two halves, W [h; trunk] = W_h h + W_t trunk, so that the summary's
    half is computed once per window instead of once per query time.
    """

    hidden: tuple[int, ...]
    outputs: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, summary: jax.Array, trunk: jax.Array, packing: Packing | None = None) -> jax.Array:
        """Maps summary [B, D] and trunk [B, Q, D], or packed rows of it, to [B, Q, L] or rows, float32."""
        first, *rest = self.hidden
        from_summary = nn.Dense(first, use_bias=False, dtype=self.dtype, name="from_summary")(summary)
        from_trunk = nn.Dense(first, use_bias=False, dtype=self.dtype, name="from_trunk")(trunk)
        x = nn.leaky_relu(spread(from_summary, packing) + from_trunk)
        x = nn.LayerNorm(dtype=self.dtype, name="norm_0")(x)
        for i, width in enumerate(rest, start=1):
            normed = i == 2
            x = nn.leaky_relu(nn.Dense(width, use_bias=not normed, dtype=self.dtype, name=f"hidden_{i}")(x))
            if normed:
                x = nn.LayerNorm(dtype=self.dtype, name=f"norm_{i}")(x)
        # The last layer is float32, because it is small and the loss needs its digits.
        return nn.Dense(self.outputs, dtype=jnp.float32, precision="highest", name="outputs")(x.astype(jnp.float32))
