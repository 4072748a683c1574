"""The transformer encoder (psi_0, psi_1)."""

import flax.linen as nn
import jax

from fimjax.nn.attention import Attention
from fimjax.nn.compute import Compute
from fimjax.nn.packing import Packing


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward block, each with a residual and a LayerNorm."""

    heads: int
    feedforward: int
    norm_first: bool = True
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array, packing: Packing | None = None) -> jax.Array:
        """x [B, T, D] or rows of it, mask [B, T] -> like x"""
        width, dtype = x.shape[-1], self.compute.dtype
        attention = Attention(self.heads, self.compute, name="attention")
        attend = lambda y: attention(y, None, mask, packing)
        norm_attention = nn.LayerNorm(dtype=dtype, name="norm_attention")
        norm_feedforward = nn.LayerNorm(dtype=dtype, name="norm_feedforward")
        widen = nn.Dense(self.feedforward * width, dtype=dtype, name="widen")
        narrow = nn.Dense(width, dtype=dtype, name="narrow")

        if self.norm_first:
            x = x + attend(norm_attention(x))
            return x + narrow(nn.relu(widen(norm_feedforward(x))))
        x = norm_attention(x + attend(x))
        return norm_feedforward(x + narrow(nn.relu(widen(x))))


class TransformerEncoder(nn.Module):
    """A stack of encoder layers over a set of tokens; no positions but what the tokens carry.

    The reports name a "transformer encoder" and no more. Reading taken: ReLU, a feed-forward block of four times the
    width, and no dropout, for no series is ever seen twice. `norm_first` puts the LayerNorms before the blocks, with
    one more at the end; False is PyTorch's default order.
    """

    layers: int
    heads: int
    feedforward: int
    norm_first: bool = True
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array, packing: Packing | None = None) -> jax.Array:
        """x [B, T, D] or rows of it, mask [B, T] (True = observed) -> like x"""
        Layer = nn.remat(EncoderLayer) if self.compute.remat else EncoderLayer
        for i in range(self.layers):
            x = Layer(self.heads, self.feedforward, self.norm_first, self.compute, name=f"layer_{i}")(x, mask, packing)
        return nn.LayerNorm(dtype=self.compute.dtype, name="norm")(x) if self.norm_first else x
