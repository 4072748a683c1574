"""Attention pooling: a set of any size becomes one vector (lambda_0 and lambda_1 in the lab report)."""

import flax.linen as nn
import jax

from fimjax.nn.attention import Attention
from fimjax.nn.compute import Compute
from fimjax.nn.packing import Packing


class SummaryAttention(nn.Module):
    """One learnable query attends to all observed tokens.

    The report gives the bare formula softmax(q K^T / sqrt(d)) V, and its table says "Multihead Attention". We follow
    the table: query, keys, values and output are projected.
    """

    heads: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, tokens: jax.Array, mask: jax.Array, packing: Packing | None = None) -> jax.Array:
        """Pools tokens [B, T, D], or packed rows of them, with mask [B, T], into [B, D]."""
        width = tokens.shape[-1]
        query = self.param("query", nn.initializers.normal(0.02), (1, width))
        attend = Attention(self.heads, self.compute, name="attention")
        return attend(query[None], tokens, mask, None, packing)[:, 0]
