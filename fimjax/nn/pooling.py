"""Attention with a learnable query: a set of any size becomes one vector (lambda_0, lambda_1)."""

import flax.linen as nn
import jax

from fimjax.nn.attention import Attention
from fimjax.nn.compute import Compute
from fimjax.nn.packing import Packing


class SummaryAttention(nn.Module):
    """One learnable query attends to all observed tokens.

    The report gives the bare formula softmax(q K^T / sqrt(d)) V, its table "Multihead Attention". Reading taken: the
    table's, with projections of query, keys, values and output.
    """

    heads: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, tokens: jax.Array, mask: jax.Array, packing: Packing | None = None) -> jax.Array:
        """tokens [B, T, D] or rows of them, mask [B, T] -> [B, D]"""
        width = tokens.shape[-1]
        query = self.param("query", nn.initializers.normal(0.02), (1, width))
        attend = Attention(self.heads, self.compute, name="attention")
        return attend(query[None], tokens, mask, None, packing)[:, 0]
