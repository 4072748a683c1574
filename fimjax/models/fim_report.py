"""FIM-l and FIM as in the lab report (section 6, tables 2 and 3): one summary vector between encoder and decoder."""

from typing import Any

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct

from fimjax.config import ReportFIMConfig, ReportFIMLocalConfig
from fimjax.models.encoders import PointEncoder, WindowEncoder
from fimjax.nn.embedding import Embedding
from fimjax.nn.mlp import DenseBlock, Projection, TrunkMLP
from fimjax.nn.packing import Packing, unpack
from fimjax.nn.pooling import SummaryAttention
from fimjax.nn.quantile_head import apply_quantile_head, head_size
from fimjax.nn.scaling import Affine, fit_range, zero_unobserved
from fimjax.nn.season import SeasonPhase
from fimjax.nn.windows import Windows


class ReportFIMLocal(PointEncoder):
    """FIM-l: from noisy observations of a function to a summary vector h, and from h to the function at any time.

    Our readings where the report is silent or contradicts itself: the widths of the projection are those of
    `Projection`; one affine map per window, fitted on observed points, serves inputs, targets, query times and the
    inverse.
    """

    config: ReportFIMLocalConfig

    def setup(self) -> None:
        super().setup()
        c, dtype = self.config, self.compute.dtype
        self.trunk_embedding = Embedding(c.width, dtype)  # phi_4
        self.trunk_mlp = TrunkMLP(c.width, c.trunk_layers, dtype)  # phi_5
        widths = tuple(n * c.width for n in c.projection)
        self.projection = Projection(widths, head_size(c.quantile_levels), dtype)  # phi_7

    def decode(self, h: jax.Array, query_times: jax.Array, packing: Packing | None = None) -> jax.Array:
        """The function that h encodes, at any times.

        Args:
            h: [B, D]; query_times: [B, Q] in the unit square of the window.
            packing: of the times that matter.

        Returns:
            [B, Q, L], float32: a value (L = 1) or rising quantiles; zeros at times that do not matter.
        """
        trunk = self.trunk_mlp(self.trunk_embedding(self.time_features(query_times, None, packing)))
        outputs = apply_quantile_head(self.projection(h, trunk, packing), self.config.quantile_levels)
        return unpack(outputs, packing)

    def __call__(
        self,
        values: jax.Array,
        times: jax.Array,
        mask: jax.Array,
        query_times: jax.Array,
        season_phase: SeasonPhase | None = None,
        packed_points: Packing | None = None,
        packed_times: Packing | None = None,
    ) -> jax.Array:
        """Interpolates one window of each series; the season is not used.

        Args:
            values, times, mask: [B, T]; query_times: [B, Q].
            packed_points, packed_times: which slots and which query times matter; None for all.

        Returns:
            [B, Q, L] in the units of the values.
        """
        chex.assert_equal_shape([values, times, mask])
        chex.assert_rank([values, query_times], 2)
        values, times = zero_unobserved(values, mask), zero_unobserved(times, mask)
        value_map, time_map = fit_range(values, mask), fit_range(times, mask)
        points = self.encode_points(value_map.normalise(values), time_map.normalise(times), mask, None, packed_points)
        h = self.summarise(points, mask, packed_points)
        return value_map.invert(self.decode(h, time_map.normalise(query_times), packed_times))


class PredictedWindow(struct.PyTreeNode):
    """The predicted embedding of the unseen window of B series, and the maps that turn it into values."""

    h: jax.Array  # [B, D], h*_K
    value_map: Affine  # [B], from the units of the series to those of the decoder
    target_map: Affine  # [B], maps the unseen window to the unit interval


class Extractor(nn.Module):
    """eta_0: from the width of the summary back to the width that FIM-l decodes."""

    width: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Maps [B, 2D] to [B, D]."""
        x = DenseBlock(4 * self.width, self.dtype)(x)
        x = nn.leaky_relu(nn.Dense(2 * self.width, dtype=self.dtype)(x))
        return nn.Dense(self.width, dtype=self.dtype)(x)


class ReportFIM(WindowEncoder):
    """FIM: the embedding of the unseen window is predicted from those of the seen ones, and decoded by a frozen FIM-l.

    Our readings of the report: the extractor follows the summary; the summary has psi_1's heads; the unseen window has
    no observed range, so the decoder's output is in units of the standardised series, or, with `learned_scale`, in
    those of a shift and a scale that are predicted from the summary.
    """

    config: ReportFIMConfig
    window_count: int = 5
    """K, windows in all: the positional encoding has a row for each of the K - 1 seen ones."""

    def setup(self) -> None:
        super().setup()
        c, width = self.config, self.config.local.width
        self.local = ReportFIMLocal(c.local, self.compute)
        self.summary = SummaryAttention(c.heads, self.compute)  # lambda_1
        self.extractor = Extractor(width, self.compute.dtype)  # eta_0
        if c.positional_encoding:
            shape = (self.window_count - 1, 2 * width)
            self.position = self.param("position", nn.initializers.normal(0.02), shape)
        if c.learned_scale:
            # Zeros at first, so that training starts from the plain decoder.
            self.rescale = nn.Dense(2, dtype=jnp.float32, precision="highest", kernel_init=nn.initializers.zeros)

    def encode(self, windows: Windows, packing: Packing | None = None) -> PredictedWindow:
        """Reads the past of B series and predicts the embedding of the unseen window."""
        encoded = self.encode_windows(windows, packing)
        tokens, value_map = encoded.windows, encoded.value_map
        if self.config.positional_encoding:
            # Counted from the forecast origin, so that the newest window has the same position in short histories.
            tokens = tokens + self.position[-tokens.shape[1] :].astype(self.compute.dtype)[None]
        summary = self.summary(tokens, encoded.seen)
        if self.config.learned_scale:
            shift, log_scale = jnp.moveaxis(self.rescale(summary.astype(jnp.float32)), -1, 0)
            value_map = value_map.then(Affine(shift, jnp.exp(jnp.clip(log_scale, -5.0, 5.0))))
        return PredictedWindow(self.extractor(summary), value_map, windows.target_map())

    def decode(self, predicted: PredictedWindow, query_times: jax.Array) -> jax.Array:
        """The unseen window at query_times [B, Q]: [B, Q, L], in the units of the series."""
        out = self.local.decode(predicted.h, predicted.target_map.normalise(query_times))
        return predicted.value_map.invert(out)

    def __call__(self, windows: Windows, query_times: jax.Array) -> jax.Array:
        """Forecasts each series at query_times [B, Q]: [B, Q, L], in the units of the series."""
        return self.decode(self.encode(windows), query_times)
