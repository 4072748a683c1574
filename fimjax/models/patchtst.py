"""PatchTST: a transformer over overlapping patches of a series (paper, table 7; Nie et al., 2023)."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from fimjax.models.grid_forecaster import GridForecaster
from fimjax.nn.attention import HIDDEN
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.grid import Grid
from fimjax.nn.packing import merge_heads, split_heads
from fimjax.nn.quantile_head import apply_quantile_head, head_size
from fimjax.nn.scaling import Affine, fit_moments

EPSILON = 1e-5
"""Added to the variance, as in the original, and to the learned scale, so that a division by them is safe."""


class PatchTST(GridForecaster):
    """From patches of the past to all steps to come, through one transformer and one linear layer.

    Table 7 gives sizes, ReLU, RevIN and residual attention; the rest follows NeuralForecast's PatchTST: three layers
    with the norms after the blocks, patches over a past that is longer by one stride in which its last step is
    repeated, a learned position for each patch, and a flat head. The "decoder hidden size" of the table is read as
    the width of the feed-forward blocks. RevIN is that of its own report: the mean, the deviation, and a learned scale
    and shift. NeuralForecast switches the latter off and takes the last value for the mean; with `from_last` RevIN
    counts from the last value here too, which the mean would otherwise undo.

    Departures. LayerNorm stands for BatchNorm, with as many parameters: statistics of a batch would make an answer
    depend on its neighbours. No dropout: no synthetic series is seen twice. The original takes a gap for a zero; here
    RevIN's moments are those of the observed steps, a gap within a patch is filled with what RevIN subtracts, and a
    patch without any observation is neither attended to nor read by the head. RevIN's learned scale acts by its
    absolute value, so that undoing it keeps the order of quantiles. Scores are needed by the next layer, so that
    attention is always made of plain products, never of a fused kernel.

    With `season_harmonics`, which the original lacks, a patch is embedded together with its mask and the phases of the
    season at its last step; without, the parameters are the original's.
    """

    @nn.compact
    def tell(self, grid: Grid) -> jax.Array:
        c, dtype = self.config, self.compute.dtype
        if c.revin:
            values, value_map = ReversibleNorm(c.from_last, name="revin")(grid.values, grid.mask)
        else:
            values, value_map = grid.values, Affine(jnp.zeros(grid.values.shape[0]), jnp.ones(grid.values.shape[0]))

        cut = lambda x: cut_patches(x, c.patch, c.stride)
        features, observed = cut(values), cut(grid.mask)  # [B, T, P]
        if c.season_harmonics:
            phases = cut(grid.phases)[:, :, -1]
            features = jnp.concatenate([features, observed.astype(features.dtype), phases], axis=-1)
        seen = jnp.any(observed, axis=-1)  # [B, T]
        position = self.param("position", _near_zero, (seen.shape[1], c.width)).astype(dtype)
        tokens = Embedding(c.width, dtype, name="embedding")(features) + position[None]
        tokens = PatchEncoder(c.layers, c.heads, c.feedforward, c.residual_attention, self.compute, name="encoder")(
            tokens, seen
        )

        levels = head_size(c.quantile_levels)
        flat = jnp.where(seen[..., None], tokens.astype(jnp.float32), 0.0).reshape(tokens.shape[0], -1)
        head = nn.Dense(c.horizon * levels, dtype=jnp.float32, precision="highest", name="head")
        raw = head(flat).reshape(-1, c.horizon, levels)
        return value_map.invert(apply_quantile_head(raw, c.quantile_levels))


class ReversibleNorm(nn.Module):
    """RevIN: each series by its own moments, then by a learned scale and shift; and the way back."""

    from_zero: bool = False
    """Count from zero, where the last observation already is, instead of the mean."""

    @nn.compact
    def __call__(self, values: jax.Array, mask: jax.Array) -> tuple[jax.Array, Affine]:
        """What the network reads of values [B, C], and the map [B] whose inverse takes its answer back.

        A gap is filled before anything is scaled, so that it comes out where the middle of the series does.
        """
        scale = jnp.abs(self.param("scale", nn.initializers.ones, (1,))) + EPSILON
        shift = self.param("shift", nn.initializers.zeros, (1,))
        moments = fit_moments(values, mask)
        middle = jnp.zeros_like(moments.shift) if self.from_zero else moments.shift
        value_map = Affine(middle, jnp.sqrt(moments.scale**2 + EPSILON)).then(Affine(-shift / scale, 1 / scale))
        return value_map.normalise(jnp.where(mask, values, middle[:, None])), value_map


class PatchEncoder(nn.Module):
    """Encoder layers that hand their attention scores on (RealFormer: He et al., 2020)."""

    layers: int
    heads: int
    feedforward: int
    residual_attention: bool = True
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        """x [B, T, D], mask [B, T], True = may be seen -> [B, T, D]"""
        Layer = nn.remat(PatchLayer) if self.compute.remat else PatchLayer
        earlier = None
        for i in range(self.layers):
            x, scores = Layer(self.heads, self.feedforward, self.compute, name=f"layer_{i}")(x, mask, earlier)
            earlier = scores if self.residual_attention else None
        return x


class PatchLayer(nn.Module):
    """Self-attention and a feed-forward block, each with a residual and a LayerNorm after it."""

    heads: int
    feedforward: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array, earlier: jax.Array | None = None) -> tuple[jax.Array, jax.Array]:
        """One layer.

        Args:
            x: [B, T, D]; mask: [B, T], True = may be seen.
            earlier: [B, N, T, T], scores of the layer before, None for none.

        Returns:
            [B, T, D], and the scores [B, N, T, T], before any mask.
        """
        width, dtype = x.shape[-1], self.compute.dtype
        dense = lambda size, name: nn.Dense(size, dtype=dtype, name=name)
        norm = lambda name: nn.LayerNorm(epsilon=1e-5, dtype=dtype, name=name)
        query, key, value = split_heads(dense(3 * width, "projections")(x), 3, self.heads, None)
        attended, scores = scored_attention(query, key, value, mask, earlier)
        x = norm("norm_attention")(x + dense(width, "out")(merge_heads(attended, None)))
        hidden = nn.relu(dense(self.feedforward, "widen")(x))
        return norm("norm_feedforward")(x + dense(width, "narrow")(hidden)), scores


def scored_attention(
    query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array, earlier: jax.Array | None
) -> tuple[jax.Array, jax.Array]:
    """`masked_attention` with earlier scores added to its own, and all of them returned.

    Args:
        query, key, value: [B, N, T, D]; mask: [B, T], True = may be seen; earlier: [B, N, T, T] or None.

    Returns:
        [B, N, T, D], zeros where there is nothing to look at; and the float32 scores [B, N, T, T], before the mask.
    """
    seen = mask[:, None, None, :]
    scores = jnp.einsum("bnqd,bntd->bnqt", query, key, preferred_element_type=jnp.float32) * query.shape[-1] ** -0.5
    scores = scores if earlier is None else scores + earlier
    weights = jax.nn.softmax(jnp.where(seen, scores, HIDDEN), axis=-1)
    weights = jnp.where(jnp.any(seen, axis=-1, keepdims=True), weights, 0.0)
    return jnp.einsum("bnqt,bntd->bnqd", weights.astype(value.dtype), value), scores


def cut_patches(x: jax.Array, patch: int, stride: int) -> jax.Array:
    """Overlapping patches of steps [B, C, ...], the last step repeated for one more stride: [B, T, patch, ...].

    T = (C - patch) // stride + 2; the first patch begins at the oldest step, as in the original.
    """
    count = (x.shape[1] - patch) // stride + 2
    steps = stride * np.arange(count)[:, None] + np.arange(patch)[None]
    return x[:, np.minimum(steps, x.shape[1] - 1)]


def _near_zero(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Positions at first, as in the original."""
    return jax.random.uniform(key, shape, minval=-0.02, maxval=0.02)
