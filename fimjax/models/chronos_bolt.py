"""Chronos-Bolt: T5's encoder reads patches of the past, and its decoder forecasts all steps at once."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from fimjax.config import ChronosBoltConfig
from fimjax.models.grid_forecaster import GridForecaster
from fimjax.nn.attention import HIDDEN
from fimjax.nn.compute import Compute
from fimjax.nn.grid import Grid
from fimjax.nn.packing import merge_heads, split_heads
from fimjax.nn.quantile_head import apply_quantile_head, head_size
from fimjax.nn.scaling import fit_moments, zero_unobserved

PAD, REG = 0, 1
"""Rows of the token table: the only input of the decoder, and the token that follows the patches."""
BUCKETS, MAX_DISTANCE = 32, 128
"""T5's buckets of distances, and the distance from which on all share the last bucket."""


class ResidualBlock(nn.Module):
    """An MLP with one hidden layer, plus a linear skip connection.

    Both layers that read the input are float32: the first block of the network reads values, and the last one reads
    only one token a series.
    """

    hidden: int
    width: int
    dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[..., F] -> [..., D]"""
        read = lambda width, name: nn.Dense(width, dtype=jnp.float32, precision="highest", name=name)(x)
        output = nn.Dense(self.width, dtype=self.dtype, precision="highest", name="output")
        return output(nn.relu(read(self.hidden, "hidden"))) + read(self.width, "skip").astype(self.dtype)


def distance_buckets(distances: np.ndarray) -> np.ndarray:
    """T5's buckets of distances in both directions: one for each near distance, logarithmic ones for far distances.

    Args:
        distances: integers, the position of the token less that of the query.

    Returns:
        Integers of the same shape, below BUCKETS.
    """
    half = BUCKETS // 2
    near = half // 2
    size = np.abs(distances)
    fraction = np.log(np.maximum(size, 1) / near) / np.log(MAX_DISTANCE / near)
    # The small offset keeps a distance on the border of two buckets from rounding into the lower one.
    far = near + np.floor(fraction * (half - near) + 1e-6)
    bucket = np.where(size < near, size, np.minimum(far, half - 1))
    return (np.where(distances > 0, half, 0) + bucket).astype(np.int32)


class RelativeBias(nn.Module):
    """A learned score for each bucket of distances and each head."""

    heads: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[B, T, D] -> [1, N, T, T], float32"""
        positions = np.arange(x.shape[1])
        init = nn.initializers.normal(x.shape[-1] ** -0.5)
        table = self.param("table", init, (BUCKETS, self.heads))
        bias = table[distance_buckets(positions[None, :] - positions[:, None])]
        return jnp.moveaxis(bias, -1, 0)[None]


class T5Attention(nn.Module):
    """Attention whose projections have no bias, and whose scores have no scale: queries start small instead."""

    heads: int
    head_width: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, queries: jax.Array, tokens: jax.Array, mask: jax.Array, bias: jax.Array | None) -> jax.Array:
        """Attention from queries to tokens.

        Args:
            queries: [B, Q, D].
            tokens: [B, T, D].
            mask: [B, T], True = visible, at least one token of each series.
            bias: [1, N, Q, T], added to the scores, or None.

        Returns:
            [B, Q, D]
        """
        dtype, width = self.compute.dtype, self.heads * self.head_width
        # Initial scores are as large as if they were divided by the square root of the head's width.
        small = nn.initializers.variance_scaling(1 / self.head_width, "fan_in", "truncated_normal")
        dense = lambda width, name, **kw: nn.Dense(width, use_bias=False, dtype=dtype, name=name, **kw)
        heads = lambda x: split_heads(x, 1, self.heads, None)[0]
        query = heads(dense(width, "query", kernel_init=small)(queries))
        key, value = (heads(dense(width, name)(tokens)) for name in ("key", "value"))
        scores = jnp.einsum("bnqd,bntd->bnqt", query, key, preferred_element_type=jnp.float32)
        scores = scores if bias is None else scores + bias
        weights = jax.nn.softmax(jnp.where(mask[:, None, None, :], scores, HIDDEN), axis=-1)
        out = merge_heads(jnp.einsum("bnqt,bntd->bnqd", weights.astype(dtype), value), None)
        return dense(queries.shape[-1], "out")(out)


class T5Layer(nn.Module):
    """Self-attention, cross-attention if there is a memory, and a feed-forward block; an RMS norm before each."""

    heads: int
    head_width: int
    feedforward: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(
        self,
        x: jax.Array,
        mask: jax.Array,
        bias: jax.Array,
        memory: tuple[jax.Array, jax.Array] | None,
    ) -> jax.Array:
        """Computes one layer.

        Args:
            x: [B, T, D].
            mask: [B, T], True = visible.
            bias: [1, N, T, T], added to the scores of self-attention.
            memory: tokens [B, M, D] for cross-attention and their mask [B, M]; None for no cross-attention.

        Returns:
            [B, T, D]
        """
        dtype = self.compute.dtype
        norm = lambda name: nn.RMSNorm(dtype=dtype, name=f"norm_{name}")
        attention = lambda name: T5Attention(self.heads, self.head_width, self.compute, name=name)
        dense = lambda width, name: nn.Dense(width, use_bias=False, dtype=dtype, name=name)
        normed = norm("self_attention")(x)
        x = x + attention("self_attention")(normed, normed, mask, bias)
        if memory is not None:
            x = x + attention("cross_attention")(norm("cross_attention")(x), *memory, None)
        hidden = nn.relu(dense(self.feedforward, "widen")(norm("feedforward")(x)))
        return x + dense(x.shape[-1], "narrow")(hidden)


class T5Stack(nn.Module):
    """Layers that share one relative position bias, and an RMS norm at the end.

    The decoder is a stack of its own with a single token, so neither a causal mask nor causal buckets are needed.
    """

    layers: int
    heads: int
    head_width: int
    feedforward: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array, memory: tuple[jax.Array, jax.Array] | None = None) -> jax.Array:
        """x [B, T, D], mask [B, T], memory ([B, M, D], [B, M]) -> [B, T, D]"""
        bias = RelativeBias(self.heads, name="relative_bias")(x)
        Layer = nn.remat(T5Layer) if self.compute.remat else T5Layer
        for i in range(self.layers):
            layer = Layer(self.heads, self.head_width, self.feedforward, self.compute, name=f"layer_{i}")
            x = layer(x, mask, bias, memory)
        return nn.RMSNorm(dtype=self.compute.dtype, name="norm")(x)


class ChronosBolt(GridForecaster):
    """Chronos-Bolt (Ansari et al., 2024) with the sizes of the paper's table 8.

    T5's encoder reads patches of values and mask, and a final [REG] token. Its decoder has one token, from which a
    residual block predicts all steps and quantiles. Details that the table omits follow the chronos-forecasting
    package and its chronos-bolt-tiny: heads of 64, feed-forward and residual blocks of 1024, 64 steps at once, values
    normalised by the mean and standard deviation of the context, patches padded on the left, and T5 version 1 with
    ReLU, RMS norms (epsilon 1e-6) and no biases. Attention skips patches without observations.

    Differences from the original:
    - Quantiles cannot cross, because they come from the shared quantile head.
    - A constant context has scale 0, not 1e-5, so that the forecast is exactly that constant.
    - There is no dropout, because no synthetic series is seen twice.
    - Kernels start with the variances of T5 (one over their inputs; for queries, one over inputs times head width). The
      original starts the last block's as if it had the inputs of the first.
    - Layers that read values or predict them are float32.
    - Attention never uses a fused kernel, because it has a learned bias.
    - With `season_harmonics`, each patch also has the season's phases at its last step.

    `subtract_last_value` changes nothing here, because the instance normalisation subtracts the mean anyway. The only
    token of the decoder attends to itself alone. Its queries, keys and relative bias are kept as in the original, but
    they neither change the forecast nor get a gradient.
    """

    config: ChronosBoltConfig

    @nn.compact
    def predict_steps(self, grid: Grid) -> jax.Array:
        c, dtype, batch = self.config, self.compute.dtype, grid.values.shape[0]
        levels = c.quantile_levels
        moments = fit_moments(grid.values, grid.mask)
        values = zero_unobserved(moments.normalise(grid.values), grid.mask)
        patches, mask = adjacent_patches(values, grid, c.patch_size)
        tokens = ResidualBlock(c.feedforward, c.width, dtype, name="patch_embedding")(patches)

        table = self.param("tokens", nn.initializers.normal(1.0), (2, c.width)).astype(dtype)
        token = lambda index: jnp.broadcast_to(table[index][None, None], (batch, 1, c.width))
        visible = jnp.ones((batch, 1), bool)
        tokens, mask = jnp.concatenate([tokens, token(REG)], axis=1), jnp.concatenate([mask, visible], axis=1)

        sizes = (c.heads, c.head_width, c.feedforward, self.compute)
        memory = T5Stack(c.encoder_layers, *sizes, name="encoder")(tokens, mask)
        summary = T5Stack(c.decoder_layers, *sizes, name="decoder")(token(PAD), visible, (memory, mask))[:, 0]
        raw = ResidualBlock(c.feedforward, c.horizon * head_size(levels), name="output")(summary)
        return moments.invert(apply_quantile_head(raw.reshape(batch, c.horizon, -1), levels))


def adjacent_patches(values: jax.Array, grid: Grid, size: int) -> tuple[jax.Array, jax.Array]:
    """Cuts steps into patches without overlap; the last ends at the newest step, the first is padded on the left.

    Args:
        values: [B, C], normalised.
        grid: mask and phases of these values.
        size: P, steps of a patch.

    Returns:
        [B, T, 2 P + F], values and mask of each patch and the phases at its last step; and the patches with at least
        one observation [B, T].
    """
    batch, steps = values.shape
    cut = lambda x: jnp.pad(x, ((0, 0), (-steps % size, 0))).reshape(batch, -1, size)
    mask = cut(grid.mask)
    phases = grid.phases[:, (steps - 1) % size :: size]
    patches = jnp.concatenate([cut(values), mask.astype(values.dtype), phases.astype(values.dtype)], axis=-1)
    return patches, jnp.any(mask, axis=-1)
