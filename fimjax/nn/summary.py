"""Attention with a learnable query: a set of any size becomes one vector (lambda_0, lambda_1)."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.nn.transformer import attention


class SummaryAttention(nn.Module):
    """One learnable query attends to all observed tokens.

    The report gives the bare formula softmax(q K^T / sqrt(d)) V, its table "Multihead Attention". Reading taken: the
    table's, with projections of query, keys, values and output.
    """

    heads: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, tokens: jax.Array, mask: jax.Array) -> jax.Array:
        """tokens [B, T, D], mask [B, T] -> [B, D]"""
        batch, _, width = tokens.shape
        query = self.param("query", nn.initializers.normal(0.02), (1, width))
        query = jnp.broadcast_to(query.astype(self.dtype), (batch, 1, width))
        attend = attention(self.heads, self.dtype, name="attention")
        return attend(query, tokens, mask=mask[:, None, None, :])[:, 0]
