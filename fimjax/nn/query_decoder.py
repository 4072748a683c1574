"""Query times attend to encoded windows and points: a decoder without the bottleneck of one summary vector."""

from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.nn.attention import Attention, masked_attention
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.packing import Packing, merge_heads, split_heads
from fimjax.nn.quantile_head import apply_quantile_head, head_size
from fimjax.nn.season import SeasonPhase, fourier_features

TIME_HARMONICS = 4
"""Fourier features of a time relative to the forecast origin."""


def query_features(relative_times: jax.Array, season_phase: SeasonPhase, season_features: jax.Array) -> jax.Array:
    """What is known of a time before any value is read: its distance from the origin and its phase of the season.

    Args:
        relative_times: [B, Q], in windows since the forecast origin; negative before it.
        season_phase: [B], in the same unit of time.
        season_features: [B, Q, F].

    Returns:
        [B, Q, 2 + 2 * TIME_HARMONICS + F]
    """
    log_steps = jnp.broadcast_to(-jnp.log(season_phase.step)[:, None], relative_times.shape)
    features = [relative_times[..., None], log_steps[..., None], fourier_features(relative_times, TIME_HARMONICS)]
    return jnp.concatenate([*features, season_features], axis=-1)


class AnchorInputs(NamedTuple):
    """What an anchor combines into a baseline for each query time."""

    values: jax.Array  # [B, T], the observed value at each token
    baseline_forecasts: jax.Array  # [B, Q, P], classical forecasts, the last value among them
    seasonal_residuals: jax.Array  # [B, Q, R], seasonal residuals that may have to be added
    reference: jax.Array  # [B, Q], the forecast relative to which the others are combined


class CrossLayer(nn.Module):
    """Attention from queries to tokens and a feed-forward block, each with a LayerNorm before it and a residual."""

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
        """Maps queries [B, Q, D] to the same shape, reading tokens [B, T, D] with mask [B, T]; both may be rows."""
        width, dtype = queries.shape[-1], self.compute.dtype
        x = nn.LayerNorm(dtype=dtype, name="norm_attention")(queries)
        attend = Attention(self.heads, self.compute, name="attention")
        queries = queries + attend(x, tokens, mask, packed_queries, packed_tokens)
        x = nn.LayerNorm(dtype=dtype, name="norm_feedforward")(queries)
        x = nn.gelu(nn.Dense(self.feedforward * width, dtype=dtype, name="widen")(x))
        return queries + nn.Dense(width, dtype=dtype, name="narrow")(x)


class Anchor(nn.Module):
    """A baseline for each query time: a weighted sum of attended observed values and of classical forecasts.

    Exponential smoothing, the seasonal naive and autoregressions all forecast by weighted sums of observed values. A
    network that has to carry values through its layers copies them roughly; this one points at them.
    """

    heads: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(
        self,
        queries: jax.Array,
        tokens: jax.Array,
        mask: jax.Array,
        inputs: AnchorInputs,
        packed_queries: Packing | None = None,
        packed_tokens: Packing | None = None,
    ) -> jax.Array:
        """The baseline at each query.

        All terms are taken relative to `inputs.reference`. Without it, weights that sum to 1.01 would shift the
        baseline by a hundredth of the value, which is much for a series with small errors.

        Args:
            queries: [B, Q, D]; tokens: [B, T, D]; mask: [B, T]. Queries and tokens may be packed rows.

        Returns:
            [B, Q] or rows.
        """
        width = queries.shape[-1] // 2  # pointing needs less width than encoding
        project = lambda x, name: nn.Dense(width, dtype=self.compute.dtype, name=name)(x)
        (query,) = split_heads(project(queries, "query"), 1, self.heads, packed_queries)
        (key,) = split_heads(project(tokens, "key"), 1, self.heads, packed_tokens)
        column = jnp.broadcast_to(inputs.values[:, None, :, None], (*key.shape[:3], 1)).astype(jnp.float32)
        averages = merge_heads(masked_attention(query, key, column, mask), packed_queries)  # [B, Q, N]
        levels = jnp.concatenate([averages, inputs.baseline_forecasts], axis=-1) - inputs.reference[..., None]
        terms = jnp.concatenate([levels, inputs.seasonal_residuals], axis=-1)
        gates = nn.Dense(
            terms.shape[-1],
            dtype=jnp.float32,
            precision="highest",
            kernel_init=nn.initializers.zeros,
            bias_init=_equal_weights,
            name="gates",
        )(queries.astype(jnp.float32))
        return inputs.reference + jnp.sum(gates * terms, axis=-1)


def _equal_weights(key: jax.Array, shape: tuple[int, ...], dtype: Any = jnp.float32) -> jax.Array:
    """The initial gates: a plain mean of all terms."""
    return jnp.full(shape, 1 / shape[0], dtype)


class QueryDecoder(nn.Module):
    """From features of query times and encoded tokens to a value or quantiles at these times.

    GELU has no kinks, unlike ReLU, so the output and its derivative are smooth functions of time. The output is a
    correction in units of `error_scale`, added to a baseline: an anchor, or a softmax mixture of given baselines.
    """

    width: int
    layers: int
    heads: int
    feedforward: int
    quantile_levels: tuple[float, ...]
    anchor_heads: int = 0
    compute: Compute = Compute()

    @nn.compact
    def __call__(
        self,
        features: jax.Array,
        tokens: jax.Array,
        mask: jax.Array,
        error_scale: jax.Array,
        anchor_inputs: AnchorInputs | None = None,
        baselines: jax.Array | None = None,
        packed_queries: Packing | None = None,
        packed_tokens: Packing | None = None,
    ) -> jax.Array:
        """Decodes each query time.

        Args:
            features: [B, Q, F], or packed rows.
            tokens: [B, T, D], or packed rows; mask: [B, T], which of them may be seen.
            error_scale: [B, Q] or rows, typical error of the baseline.
            anchor_inputs: what the anchor combines, if the decoder has anchor heads.
            baselines: [B, Q, G] or rows, baselines to mix, if it has none.

        Returns:
            [B, Q, L] or rows, float32, in the units of the baseline.
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
        # The last layers are float32, because they are small and the loss needs their digits.
        last = lambda size, name: nn.Dense(size, dtype=jnp.float32, precision="highest", name=name)(hidden)
        outputs = last(head_size(self.quantile_levels), "outputs")
        correction = error_scale[..., None] * apply_quantile_head(outputs, self.quantile_levels)
        if anchor_inputs is not None:
            anchor = Anchor(self.anchor_heads, self.compute, name="anchor")
            baseline = anchor(x, tokens, mask, anchor_inputs, packed_queries, packed_tokens)
            return correction + baseline[..., None]
        assert baselines is not None, "a decoder without an anchor needs baselines"
        weights = nn.softmax(last(baselines.shape[-1], "baseline_weights"))
        return correction + jnp.sum(weights * baselines, axis=-1, keepdims=True)
