"""Attention that respects masks, and the transformer encoder built on it (psi_0, psi_1)."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp


def masked_attention(query, key, value, bias=None, mask=None, **_):
    """Scaled dot-product attention with a float32 softmax; a row with nothing to look at yields zeros.

    Without that last rule a fully masked row would return the mean over its padding.

    Args:
        query: [B, Q, N, D]; key, value: [B, T, N, D]; mask: [B, 1 or N, 1 or Q, T], True = may be seen.

    Returns:
        [B, Q, N, D]
    """
    out = jax.nn.dot_product_attention(query, key, value, bias=bias, mask=mask)
    if mask is None:
        return out
    sees_something = jnp.any(mask, axis=-1, keepdims=True)  # [B, 1 or N, 1 or Q, 1]
    return jnp.where(jnp.swapaxes(sees_something, 1, 2), out, jnp.zeros((), out.dtype))


def attention(heads: int, dtype: Any, name: str | None = None) -> nn.Module:
    """Multi-head attention with PyTorch's parameters (four projections with biases) and our masked kernel."""
    return nn.MultiHeadDotProductAttention(
        num_heads=heads,
        dtype=dtype,
        attention_fn=masked_attention,
        name=name,
    )


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward block, each with a residual and a LayerNorm."""

    heads: int
    feedforward: int
    norm_first: bool = True
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        """x [B, T, D], mask [B, T] -> [B, T, D]"""
        width = x.shape[-1]
        attend = attention(self.heads, self.dtype, name="attention")
        norm_attention = nn.LayerNorm(dtype=self.dtype, name="norm_attention")
        norm_feedforward = nn.LayerNorm(dtype=self.dtype, name="norm_feedforward")
        widen = nn.Dense(self.feedforward * width, dtype=self.dtype, name="widen")
        narrow = nn.Dense(width, dtype=self.dtype, name="narrow")
        keys = mask[:, None, None, :]

        if self.norm_first:
            y = norm_attention(x)
            x = x + attend(y, y, mask=keys)
            return x + narrow(nn.relu(widen(norm_feedforward(x))))
        x = norm_attention(x + attend(x, x, mask=keys))
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
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        """x [B, T, D], mask [B, T] (True = observed) -> [B, T, D]"""
        for i in range(self.layers):
            layer = EncoderLayer(self.heads, self.feedforward, self.norm_first, self.dtype, name=f"layer_{i}")
            x = layer(x, mask)
        return nn.LayerNorm(dtype=self.dtype, name="norm")(x) if self.norm_first else x
