"""PatchTST: a transformer over overlapping patches of a series."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from fimjax.config import PatchTSTConfig
from fimjax.models.grid_forecaster import GridForecaster
from fimjax.nn.attention import HIDDEN
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.grid import Grid
from fimjax.nn.packing import merge_heads, split_heads
from fimjax.nn.quantile_head import apply_quantile_head, head_size
from fimjax.nn.scaling import Affine, fit_moments

EPSILON = 1e-5
"""Added to the variance, as in the original, and to the learned scale, so that dividing by them is safe."""


class PatchTST(GridForecaster):
    """PatchTST (Nie et al., 2023) with the sizes of the paper's table 7.

    A transformer reads patches of the past, and one linear layer forecasts all steps. Details that the table omits
    follow NeuralForecast: three layers with norms after the blocks, one more stride of patches that repeats the last
    step, a learned position for each patch, and a flat head. The table's "decoder hidden size" is read as the width of
    the feed-forward blocks.

    Differences from the original:
    - LayerNorm replaces BatchNorm, with as many parameters: batch statistics would make a forecast depend on the other
      series of its batch.
    - Quantiles cannot cross, because they come from the shared quantile head. RevIN uses the absolute value of its
      learned scale, so that undoing it keeps their order.
    - RevIN subtracts the mean, divides by the standard deviation, and applies a learned scale and shift, as in its own
      article (Kim et al., 2022). NeuralForecast switches scale and shift off and subtracts the last value,
      as this network does with `subtract_last_value`.
    - Missing values are masked. The original reads them as zeros. Here RevIN's moments are those of the observed steps,
      a missing value in a patch becomes the value that RevIN subtracts, and neither attention nor head read a patch
      without observations.
    - There is no dropout, because no synthetic series is seen twice.
    - With `season_harmonics`, a patch is embedded together with its mask and the season's phases at its last step.

    Attention never uses a fused kernel, because each layer needs the scores of the one before it.
    """

    config: PatchTSTConfig

    @nn.compact
    def predict_steps(self, grid: Grid) -> jax.Array:
        c, dtype = self.config, self.compute.dtype
        values, value_map = ReversibleNorm(center_on_zero=c.subtract_last_value, name="revin")(grid.values, grid.mask)
        patches = lambda x: overlapping_patches(x, c.patch_size, c.stride)
        features, observed = patches(values), patches(grid.mask)  # [B, T, P]
        if c.season_harmonics:
            phases = patches(grid.phases)[:, :, -1]
            features = jnp.concatenate([features, observed.astype(features.dtype), phases], axis=-1)
        mask = jnp.any(observed, axis=-1)  # [B, T]
        position = self.param("position", _near_zero, (mask.shape[1], c.width)).astype(dtype)
        tokens = Embedding(c.width, dtype, name="embedding")(features) + position[None]
        tokens = PatchEncoder(c.layers, c.heads, c.feedforward, self.compute, name="encoder")(tokens, mask)

        outputs = head_size(c.quantile_levels)
        flat = jnp.where(mask[..., None], tokens.astype(jnp.float32), 0.0).reshape(tokens.shape[0], -1)
        head = nn.Dense(c.horizon * outputs, dtype=jnp.float32, precision="highest", name="head")
        raw = head(flat).reshape(-1, c.horizon, outputs)
        return value_map.invert(apply_quantile_head(raw, c.quantile_levels))


class ReversibleNorm(nn.Module):
    """RevIN: scales each series by its own moments, then by a learned scale and shift, and can undo both."""

    center_on_zero: bool = False
    """Subtract nothing instead of the mean, because the values are already relative to the last observation."""

    @nn.compact
    def __call__(self, values: jax.Array, mask: jax.Array) -> tuple[jax.Array, Affine]:
        """Normalises values.

        Args:
            values: [B, C].
            mask: [B, C], True = observed.

        Returns:
            The normalised values [B, C], missing ones in the centre; and the map [B] to invert on the forecasts.
        """
        scale = jnp.abs(self.param("scale", nn.initializers.ones, (1,))) + EPSILON
        shift = self.param("shift", nn.initializers.zeros, (1,))
        moments = fit_moments(values, mask)
        center = jnp.zeros_like(moments.shift) if self.center_on_zero else moments.shift
        value_map = Affine(center, jnp.sqrt(moments.scale**2 + EPSILON)).then(Affine(-shift / scale, 1 / scale))
        return value_map.normalise(jnp.where(mask, values, center[:, None])), value_map


class PatchEncoder(nn.Module):
    """Encoder layers that each add the attention scores of the layer before (RealFormer: He et al., 2020)."""

    layers: int
    heads: int
    feedforward: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        """x [B, T, D], mask [B, T], True = visible -> [B, T, D]"""
        Layer = nn.remat(PatchLayer) if self.compute.remat else PatchLayer
        scores = None
        for i in range(self.layers):
            x, scores = Layer(self.heads, self.feedforward, self.compute, name=f"layer_{i}")(x, mask, scores)
        return x


class PatchLayer(nn.Module):
    """Self-attention and a feed-forward block, each with a residual and a LayerNorm after it."""

    heads: int
    feedforward: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array, earlier: jax.Array | None) -> tuple[jax.Array, jax.Array]:
        """Computes one layer.

        Args:
            x: [B, T, D].
            mask: [B, T], True = visible.
            earlier: [B, N, T, T], scores of the layer before; None in the first layer.

        Returns:
            [B, T, D], and the scores [B, N, T, T] before masking.
        """
        width, dtype = x.shape[-1], self.compute.dtype
        dense = lambda size, name: nn.Dense(size, dtype=dtype, name=name)
        norm = lambda name: nn.LayerNorm(epsilon=1e-5, dtype=dtype, name=name)
        query, key, value = split_heads(dense(3 * width, "projections")(x), 3, self.heads, None)
        attended, scores = residual_attention(query, key, value, mask, earlier)
        x = norm("norm_attention")(x + dense(width, "out")(merge_heads(attended, None)))
        hidden = nn.relu(dense(self.feedforward, "widen")(x))
        return norm("norm_feedforward")(x + dense(width, "narrow")(hidden)), scores


def residual_attention(
    query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array, earlier: jax.Array | None
) -> tuple[jax.Array, jax.Array]:
    """`masked_attention` that adds earlier scores to its own, and returns the sum.

    Args:
        query, key, value: [B, N, T, D].
        mask: [B, T], True = visible.
        earlier: [B, N, T, T], or None.

    Returns:
        [B, N, T, D], zeros for a series without visible tokens; and the float32 scores [B, N, T, T] before masking.
    """
    visible = mask[:, None, None, :]
    scores = jnp.einsum("bnqd,bntd->bnqt", query, key, preferred_element_type=jnp.float32) * query.shape[-1] ** -0.5
    scores = scores if earlier is None else scores + earlier
    weights = jax.nn.softmax(jnp.where(visible, scores, HIDDEN), axis=-1)
    weights = jnp.where(jnp.any(visible, axis=-1, keepdims=True), weights, 0.0)
    return jnp.einsum("bnqt,bntd->bnqd", weights.astype(value.dtype), value), scores


def overlapping_patches(x: jax.Array, size: int, stride: int) -> jax.Array:
    """Cuts steps into overlapping patches; the first starts at the oldest step, the last repeats the newest step.

    Args:
        x: [B, C, ...].
        size: P, steps of a patch.
        stride: steps from one patch to the next.

    Returns:
        [B, T, P, ...] with T = (C - P) // stride + 2.
    """
    count = (x.shape[1] - size) // stride + 2
    steps = stride * np.arange(count)[:, None] + np.arange(size)[None]
    return x[:, np.minimum(steps, x.shape[1] - 1)]


def _near_zero(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Initial positions, as in the original."""
    return jax.random.uniform(key, shape, minval=-0.02, maxval=0.02)
