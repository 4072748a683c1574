"""Query times that attend to encoded windows: a decoder without the bottleneck of one summary."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.nn.anchor import Anchor
from fimjax.nn.attention import Attention
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.packing import Packing
from fimjax.nn.quantile_head import apply_quantile_head, head_size
from fimjax.nn.season import SeasonPhase, waves

WAVES = 4
"""Sines and cosines that tell where in the unseen window a time is."""


def query_features(ahead: jax.Array, clock: SeasonPhase, phases: jax.Array | None) -> jax.Array:
    """What is known of a time before any value is: how far ahead of the origin it is, and where in the season.

    Args:
        ahead: [B, Q], in windows since the forecast origin, negative for times before it.
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
    """From features of query times and encoded windows to a value or quantiles at these times.

    GELU, unlike ReLU, has no kinks: the answer is a smooth function of time, and so is its derivative. With
    `anchor_heads` the answer is counted from a weighted sum of observed values, with guesses from a mean of these.
    """

    width: int
    layers: int
    heads: int
    feedforward: int
    levels: tuple[float, ...]
    anchor_heads: int = 0
    compute: Compute = Compute()

    @nn.compact
    def __call__(
        self,
        features: jax.Array,
        tokens: jax.Array,
        mask: jax.Array,
        values: jax.Array | None = None,
        pinned: jax.Array | None = None,
        remainders: jax.Array | None = None,
        base: jax.Array | None = None,
        guesses: jax.Array | None = None,
        unit: jax.Array | None = None,
        packed_queries: Packing | None = None,
        packed_tokens: Packing | None = None,
    ) -> jax.Array:
        """What is said of each query time.

        Args:
            features: [B, Q, F], or rows of them.
            tokens: [B, W, D], or rows of them; mask: [B, W], which of them may be seen.
            values: [B, W], what was observed at each token, and pinned: [B, Q, P], remainders: [B, Q, R], base: [B, Q],
                or rows of them: for the anchor.
            guesses: [B, Q, G] or rows, simple answers to start from.
            unit: [B, Q] or rows, how far anchor or guesses may miss; 1 if it is not given.

        Returns:
            [B, Q, L] or rows, float32, in the units of values and guesses.
        """
        dtype = self.compute.dtype
        x = nn.gelu(Embedding(self.width, dtype, name="embedding")(features))
        x = nn.Dense(self.width, dtype=dtype, name="trunk")(x)
        Layer = nn.remat(CrossLayer) if self.compute.remat else CrossLayer
        for i in range(self.layers):
            layer = Layer(self.heads, self.feedforward, self.compute, name=f"layer_{i}")
            x = layer(x, tokens, mask, packed_queries, packed_tokens)
        x = nn.LayerNorm(dtype=dtype, name="norm")(x)
        hidden = nn.gelu(nn.Dense(self.width, dtype=dtype, name="hidden")(x)).astype(jnp.float32)
        # The last layer is float32: it is small, and the loss needs its digits.
        outputs = nn.Dense(head_size(self.levels), dtype=jnp.float32, precision="highest", name="outputs")(hidden)
        out = apply_quantile_head(outputs, self.levels)
        out = out if unit is None else unit[..., None] * out
        if self.anchor_heads:
            anchor = Anchor(self.anchor_heads, self.compute, name="anchor")
            start = anchor(x, tokens, mask, values, pinned, remainders, base, packed_queries, packed_tokens)
            out = out + start[..., None]
        if guesses is not None:
            trust = nn.Dense(guesses.shape[-1], dtype=jnp.float32, precision="highest", name="trust")(hidden)
            out = out + jnp.sum(nn.softmax(trust) * guesses, axis=-1, keepdims=True)
        return out
