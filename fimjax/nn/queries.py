"""Query times that attend to encoded windows: a decoder without the bottleneck of one summary."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.nn.embedding import Embedding
from fimjax.nn.season import Clock, waves
from fimjax.nn.transformer import attention

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
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, queries: jax.Array, tokens: jax.Array, mask: jax.Array) -> jax.Array:
        """queries [B, Q, D], tokens [B, W, D], mask [B, W] -> [B, Q, D]"""
        width = queries.shape[-1]
        x = nn.LayerNorm(dtype=self.dtype, name="norm_attention")(queries)
        attend = attention(self.heads, self.dtype, name="attention")
        queries = queries + attend(x, tokens, mask=mask[:, None, None, :])
        x = nn.LayerNorm(dtype=self.dtype, name="norm_feedforward")(queries)
        x = nn.gelu(nn.Dense(self.feedforward * width, dtype=self.dtype, name="widen")(x))
        return queries + nn.Dense(width, dtype=self.dtype, name="narrow")(x)


class QueryDecoder(nn.Module):
    """From features of query times and encoded windows to the outputs at these times.

    GELU, unlike ReLU, has no kinks: the answer is a smooth function of time, and so is its derivative.
    """

    width: int
    layers: int
    heads: int
    feedforward: int
    outputs: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, features: jax.Array, tokens: jax.Array, mask: jax.Array) -> jax.Array:
        """features [B, Q, F], tokens [B, W, D], mask [B, W] -> [B, Q, L], float32"""
        x = nn.gelu(Embedding(self.width, self.dtype, name="embedding")(features))
        x = nn.Dense(self.width, dtype=self.dtype, name="trunk")(x)
        for i in range(self.layers):
            x = CrossLayer(self.heads, self.feedforward, self.dtype, name=f"layer_{i}")(x, tokens, mask)
        x = nn.LayerNorm(dtype=self.dtype, name="norm")(x)
        x = nn.gelu(nn.Dense(self.width, dtype=self.dtype, name="hidden")(x))
        # The last layer is float32: it is small, and the loss needs its digits.
        return nn.Dense(self.outputs, dtype=jnp.float32, precision="highest", name="outputs")(x.astype(jnp.float32))
