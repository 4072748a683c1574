"""The transformer encoder (psi_0 and psi_1 in the lab report)."""

import flax.linen as nn
import jax

from fimjax.nn.attention import Attention
from fimjax.nn.compute import Compute
from fimjax.nn.packing import Packing


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward block, each with a LayerNorm before it and a residual connection."""

    heads: int
    feedforward: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array, packing: Packing | None = None) -> jax.Array:
        """Maps x [B, T, D], or packed rows of it, with mask [B, T], to the same shape."""
        width, dtype = x.shape[-1], self.compute.dtype
        normed = nn.LayerNorm(dtype=dtype, name="norm_attention")(x)
        x = x + Attention(self.heads, self.compute, name="attention")(normed, None, mask, packing)
        normed = nn.LayerNorm(dtype=dtype, name="norm_feedforward")(x)
        hidden = nn.relu(nn.Dense(self.feedforward * width, dtype=dtype, name="widen")(normed))
        return x + nn.Dense(width, dtype=dtype, name="narrow")(hidden)


class TransformerEncoder(nn.Module):
    """A stack of encoder layers over a set of tokens, without positions other than those that the tokens carry.

    The lab report says "transformer encoder" and nothing more. Our reading: ReLU, LayerNorm before each block and once
    at the end, and no dropout, because no synthetic series is seen twice.
    """

    layers: int
    heads: int
    feedforward: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array, packing: Packing | None = None) -> jax.Array:
        """Maps x [B, T, D], or packed rows of it, with mask [B, T] (True = observed), to the same shape."""
        Layer = nn.remat(EncoderLayer) if self.compute.remat else EncoderLayer
        for i in range(self.layers):
            x = Layer(self.heads, self.feedforward, self.compute, name=f"layer_{i}")(x, mask, packing)
        return nn.LayerNorm(dtype=self.compute.dtype, name="norm")(x)
