"""Query times that attend to encoded windows: a decoder without the bottleneck of one summary."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.nn.attention import Attention
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.packing import Packing
from fimjax.nn.season import Clock, waves

WAVES = 4
"""Sines and cosines that tell where in the unseen window a time is."""


def query_features(ahead: jax.Array, clock: Clock, phases: jax.Array | None) -> jax.Array:
    """What is known of a time to come before any value is: how far ahead it is, and where in the season.

    Args:
        ahead: [B, Q], in windows since the forecast origin.
        clock: [B], in the same unit.
        phases: [B, Q, F] of the season, if the model uses them.

    Returns:
        [B, Q, 2 + 2 * WAVES + F]
    """
    steps = jnp.broadcast_to(-jnp.log(clock.step)[:, None], ahead.shape)
    features = [ahead[..., None], steps[..., None], waves(ahead, WAVES)]
    return jnp.concatenate(features + ([] if phases is None else [phases]), axis=-1)


class CrossLayer(nn.Module):
    """Attention from queries to tokens and a feed-forward block, each with a residual and a LayerNorm before it."""

    heads: int
    feedforward: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(
        self,
        queries: jax.Array,
        tokens: jax.Array,
        mask: jax.Array,
        packed_queries: Packing | None = None,
        packed_tokens: Packing | None = None,
    ) -> jax.Array:
        """queries [B, Q, D], tokens [B, W, D], each of them maybe as rows, mask [B, W] -> like queries"""
        width, dtype = queries.shape[-1], self.compute.dtype
        x = nn.LayerNorm(dtype=dtype, name="norm_attention")(queries)
        attend = Attention(self.heads, self.compute, name="attention")
        queries = queries + attend(x, tokens, mask, packed_queries, packed_tokens)
        x = nn.LayerNorm(dtype=dtype, name="norm_feedforward")(queries)
        x = nn.gelu(nn.Dense(self.feedforward * width, dtype=dtype, name="widen")(x))
        return queries + nn.Dense(width, dtype=dtype, name="narrow")(x)


class QueryDecoder(nn.Module):
    """From features of query times and encoded windows to the outputs at these times.

    GELU, unlike ReLU, has no kinks: the answer is a smooth function of time, and so is its derivative.
    """

    width: int
    layers: int
    heads: int
    feedforward: int
    outputs: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(
        self,
        features: jax.Array,
        tokens: jax.Array,
        mask: jax.Array,
        packed_queries: Packing | None = None,
        packed_tokens: Packing | None = None,
    ) -> jax.Array:
        """features [B, Q, F], tokens [B, W, D], each of them maybe as rows, mask [B, W] -> [B, Q, L] or rows"""
        dtype = self.compute.dtype
        x = nn.gelu(Embedding(self.width, dtype, name="embedding")(features))
        x = nn.Dense(self.width, dtype=dtype, name="trunk")(x)
        Layer = nn.remat(CrossLayer) if self.compute.remat else CrossLayer
        for i in range(self.layers):
            layer = Layer(self.heads, self.feedforward, self.compute, name=f"layer_{i}")
            x = layer(x, tokens, mask, packed_queries, packed_tokens)
        x = nn.LayerNorm(dtype=dtype, name="norm")(x)
        x = nn.gelu(nn.Dense(self.width, dtype=dtype, name="hidden")(x))
        # The last layer is float32: it is small, and the loss needs its digits.
        return nn.Dense(self.outputs, dtype=jnp.float32, precision="highest", name="outputs")(x.astype(jnp.float32))
