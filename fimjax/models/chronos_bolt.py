"""Chronos-Bolt: T5's encoder reads patches of the past, its decoder tells all steps to come at once."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from fimjax.config import ChronosBoltConfig
from fimjax.models.grid_forecaster import GridForecaster
from fimjax.nn.attention import HIDDEN
from fimjax.nn.compute import Compute
from fimjax.nn.grid import Grid
from fimjax.nn.packing import merge_heads, split_heads
from fimjax.nn.quantile_head import apply_quantile_head, head_size
from fimjax.nn.scaling import fit_moments, zero_unobserved

PAD, REG = 0, 1
"""Tokens without a patch: the decoder's only input, and the one that follows the patches."""


class ResidualBlock(nn.Module):
    """One hidden layer beside a linear skip.

    What enters is read in float32: in the first block it is values, and in the last there is but one token a series.
    """

    hidden: int
    width: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[..., F] -> [..., D]"""
        read = lambda width, name: nn.Dense(width, dtype=jnp.float32, precision="highest", name=name)(x)
        output = nn.Dense(self.width, dtype=self.dtype, precision="highest", name="output")
        return output(nn.relu(read(self.hidden, "hidden"))) + read(self.width, "skip").astype(self.dtype)


def distance_buckets(distances: np.ndarray, buckets: int, max_distance: int, causal: bool) -> np.ndarray:
    """T5's buckets of distances: near ones alone, farther ones by their logarithm, all from max_distance on together.

    Args:
        distances: whole numbers, the place of what is seen less that of what sees it.
        causal: False gives either direction half of the buckets, True all of them to the past.
    """
    sides = 0 if causal else np.where(distances > 0, buckets // 2, 0)
    buckets = buckets if causal else buckets // 2
    far = np.maximum(-distances, 0) if causal else np.abs(distances)
    single = buckets // 2
    octaves = np.log(np.maximum(far, 1) / single) / np.log(max_distance / single)
    # The least push keeps a distance on the border between two buckets from rounding into the lower one.
    shared = single + np.floor(octaves * (buckets - single) + 1e-6)
    return (sides + np.where(far < single, far, np.minimum(shared, buckets - 1))).astype(np.int32)


class RelativeBias(nn.Module):
    """What the distance of two tokens adds to their score, one number for each bucket and head."""

    heads: int
    buckets: int
    max_distance: int
    causal: bool

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[B, T, D] -> [1, N, T, T], float32"""
        places = np.arange(x.shape[1])
        distances = places[None, :] - places[:, None]
        init = nn.initializers.normal(x.shape[-1] ** -0.5)
        table = self.param("table", init, (self.buckets, self.heads))
        picked = table[distance_buckets(distances, self.buckets, self.max_distance, self.causal)]
        return jnp.moveaxis(picked, -1, 0)[None]


class T5Attention(nn.Module):
    """Attention without biases of the projections and without a scale: the queries begin small instead."""

    heads: int
    head_width: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, queries: jax.Array, tokens: jax.Array, mask: jax.Array, bias: jax.Array | None) -> jax.Array:
        """Attention from queries to tokens.

        Args:
            queries: [B, Q, D]; tokens: [B, T, D]; mask: [B, T], which of them may be seen, at least one.
            bias: [1, N, Q, T], of the scores; None for none.

        Returns:
            [B, Q, D]
        """
        dtype, width = self.compute.dtype, self.heads * self.head_width
        # Scores start as large as if they were scaled by the root of the head's width.
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
    """Self-attention, attention to a memory if there is one, and a feed-forward block; an RMS norm before each."""

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
        memory: jax.Array | None = None,
        memory_mask: jax.Array | None = None,
    ) -> jax.Array:
        """x [B, T, D], mask [B, T], bias [1, N, T, T], memory [B, M, D], memory_mask [B, M] -> [B, T, D]"""
        dtype = self.compute.dtype
        norm = lambda name: nn.RMSNorm(dtype=dtype, name=f"norm_{name}")
        attention = lambda name: T5Attention(self.heads, self.head_width, self.compute, name=name)
        dense = lambda width, name: nn.Dense(width, use_bias=False, dtype=dtype, name=name)
        normed = norm("self_attention")(x)
        x = x + attention("self_attention")(normed, normed, mask, bias)
        if memory is not None:
            x = x + attention("cross_attention")(norm("cross_attention")(x), memory, memory_mask, None)
        hidden = nn.relu(dense(self.feedforward, "widen")(norm("feedforward")(x)))
        return x + dense(x.shape[-1], "narrow")(hidden)


class T5Stack(nn.Module):
    """Layers that share one relative position bias, and an RMS norm at the end."""

    layers: int
    heads: int
    head_width: int
    feedforward: int
    buckets: int
    max_distance: int
    causal: bool
    compute: Compute = Compute()

    @nn.compact
    def __call__(
        self, x: jax.Array, mask: jax.Array, memory: jax.Array | None = None, memory_mask: jax.Array | None = None
    ) -> jax.Array:
        """x [B, T, D], mask [B, T], memory [B, M, D], memory_mask [B, M] -> [B, T, D]

        A causal stack is given one token at a time: nothing here hides later tokens from earlier ones.
        """
        bias = RelativeBias(self.heads, self.buckets, self.max_distance, self.causal, name="relative_bias")(x)
        Layer = nn.remat(T5Layer) if self.compute.remat else T5Layer
        for i in range(self.layers):
            layer = Layer(self.heads, self.head_width, self.feedforward, self.compute, name=f"layer_{i}")
            x = layer(x, mask, bias, memory, memory_mask)
        return nn.RMSNorm(dtype=self.compute.dtype, name="norm")(x)


class ChronosBolt(GridForecaster):
    """Patches of values and mask through T5's encoder; one decoder token that all steps and quantiles are read from.

    Sizes are the paper's (table 8). What that leaves out follows the chronos-forecasting package, and its
    chronos-bolt-tiny where sizes are missing (heads of 64, feed-forward and residual blocks of 1024, T5's 32 buckets up
    to a distance of 128, 64 steps at once, a [REG] token): values normalised by the mean and deviation of what the
    context holds, patches without overlap, filled up on the left; T5 of version 1 with ReLU, RMS norms (epsilon 1e-6)
    and no biases; a patch without any observation is hidden from attention, [REG] never is.

    Departures: no dropout, for no synthetic series is ever seen twice. Quantiles rise by the shared head, where the
    original may let them cross. A context without spread has scale 0 and not 1e-5, so that the answer is its constant.
    Kernels begin with a variance of one over their inputs, as in T5, those of queries with one over inputs times the
    head's width; the original begins the last block's as if it had the first one's inputs. Layers that read values or
    give the answer are float32. Attention is always computed as plain products, for it has a learned bias.

    With `season_harmonics` each patch also has the season's phases at its last step. `from_last` has nothing to change
    here: the instance normalisation takes out whatever level the values are counted from.

    The decoder's token has none but itself to attend to: its queries, keys and relative bias are kept as in the
    original, but have no part in the answer, nor a gradient.
    """

    config: ChronosBoltConfig

    @nn.compact
    def tell(self, grid: Grid) -> jax.Array:
        """The steps to come, [B, H, L], float32, sorted along L, in the units of the grid."""
        c, dtype, batch = self.config, self.compute.dtype, grid.values.shape[0]
        levels = c.quantile_levels
        moments = fit_moments(grid.values, grid.mask)
        patches, seen = cut_patches(zero_unobserved(moments.normalise(grid.values), grid.mask), grid, c.patch)
        tokens = ResidualBlock(c.feedforward, c.width, dtype, name="patch_embedding")(patches)

        table = self.param("tokens", nn.initializers.normal(1.0), (2, c.width)).astype(dtype)
        token = lambda index: jnp.broadcast_to(table[index][None, None], (batch, 1, c.width))
        always = jnp.ones((batch, 1), bool)
        tokens, seen = jnp.concatenate([tokens, token(REG)], axis=1), jnp.concatenate([seen, always], axis=1)

        shape = (c.heads, c.head_width, c.feedforward, c.buckets, c.max_distance)
        memory = T5Stack(c.encoder_layers, *shape, causal=False, compute=self.compute, name="encoder")(tokens, seen)
        decoder = T5Stack(c.decoder_layers, *shape, causal=True, compute=self.compute, name="decoder")
        summary = decoder(token(PAD), always, memory, seen)[:, 0]

        raw = ResidualBlock(c.feedforward, c.horizon * head_size(levels), name="output")(summary)
        return moments.invert(apply_quantile_head(raw.reshape(batch, c.horizon, -1), levels))


def cut_patches(values: jax.Array, grid: Grid, size: int) -> tuple[jax.Array, jax.Array]:
    """Values [B, C] with their mask and phases in patches that end with the last step, the first filled up with gaps.

    Returns:
        [B, P, 2 * size + F], the patch's values, its mask, the phases at its last step; and which patches hold an
        observation [B, P].
    """
    batch, steps = values.shape
    cut = lambda x: jnp.pad(x, ((0, 0), (-steps % size, 0))).reshape(batch, -1, size)
    mask = cut(grid.mask)
    phases = grid.phases[:, (steps - 1) % size :: size]
    patches = jnp.concatenate([cut(values), mask.astype(values.dtype), phases.astype(values.dtype)], axis=-1)
    return patches, jnp.any(mask, axis=-1)
