"""What the shipped FIM and the lab report's FIM share: encoders of points and of windows."""

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct

from fimjax.config import FIMConfig, FIMLocalConfig, ReportFIMConfig, ReportFIMLocalConfig
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.mlp import DenseBlock
from fimjax.nn.packing import Packing, pack
from fimjax.nn.pooling import SummaryAttention
from fimjax.nn.scaling import Affine, fit_range, zero_unobserved
from fimjax.nn.season import SeasonPhase
from fimjax.nn.transformer import TransformerEncoder
from fimjax.nn.windows import Windows, window_statistics

MIN_WINDOW_RANGE = 1e-3
"""Smallest range of a window, in standard deviations of its series: anything below it is rounding."""


class PointEncoder(nn.Module):
    """The encoding half of FIM-l: from the points of a window to encoded points and one summary vector.

    It works in the unit square: values and times of a window run from 0 to 1 over its observed points. Our reading of
    the report: the branch MLP comes after the encoder and before the summary, so that the learnable query has width d.
    """

    config: FIMLocalConfig | ReportFIMLocalConfig
    compute: Compute = Compute()

    def setup(self) -> None:
        c, dtype = self.config, self.compute.dtype
        self.value_embedding = Embedding(c.width, dtype)  # phi_0
        self.time_embedding = Embedding(c.width, dtype)  # phi_1
        self.branch_encoder = TransformerEncoder(c.layers, c.heads, c.feedforward, self.compute)  # psi_0
        self.branch_mlp = DenseBlock(c.width, dtype)  # phi_3
        self.summary = SummaryAttention(1, self.compute)  # lambda_0

    def encode_points(
        self,
        values: jax.Array,
        times: jax.Array,
        mask: jax.Array,
        season_features: jax.Array | None = None,
        packing: Packing | None = None,
    ) -> jax.Array:
        """Encodes each point in the context of the others.

        Args:
            values, times: [B, T] in the unit square; mask: [B, T].
            season_features: [B, T, F], if the model uses the season.
            packing: of the observed points, so that empty slots cost nothing.

        Returns:
            [B, T, 2D], or packed rows. The encoding of an unobserved slot is meaningless.
        """
        values, times = zero_unobserved(values, mask), zero_unobserved(times, mask)
        value_tokens = self.value_embedding(pack(values[..., None], packing))
        time_tokens = self.time_embedding(self.time_features(times, season_features, packing))
        return self.branch_encoder(jnp.concatenate([value_tokens, time_tokens], axis=-1), mask, packing)

    def summarise(self, points: jax.Array, mask: jax.Array, packing: Packing | None = None) -> jax.Array:
        """The summary vector h of each window; finite but meaningless for an empty window.

        Args:
            points: [B, T, 2D], or packed rows; mask: [B, T].

        Returns:
            [B, D]
        """
        return self.summary(self.branch_mlp(points), mask, packing)

    def time_features(self, times: jax.Array, season_features: jax.Array | None, packing: Packing | None) -> jax.Array:
        """Features of times [B, T] in the unit square: [B, T, F] or packed rows."""
        return pack(times[..., None], packing)

    def season_features(self, season_phase: SeasonPhase | None, times: jax.Array) -> jax.Array | None:
        """Features of the season at times [B, T], or None if the model does not use the season."""
        return None


class EncodedWindows(struct.PyTreeNode):
    """The encoded past of B series."""

    points: jax.Array  # [B * W, T, 2D] encoded points of the seen windows, or packed rows
    packing: Packing | None  # of the points, if they are packed
    windows: jax.Array  # [B, W, 2D] encoded windows
    seen: jax.Array  # [B, W], which windows hold an observation
    values: jax.Array  # [B, W, T], standardised; zeros where unobserved
    times: jax.Array  # [B, W, T], in windows since the forecast origin; zeros where unobserved
    mask: jax.Array  # [B, W, T], True = observed
    value_map: Affine  # [B], standardises the values of the series
    time_map: Affine  # [B], from time to windows since the forecast origin
    season_phase: SeasonPhase  # [B], in windows since the forecast origin
    floor: jax.Array | None  # [B], standardised lower bound of the values; -inf or None if it is unknown


class WindowEncoder(nn.Module):
    """The encoding half of FIM: FIM-l encodes each window, and a transformer relates the windows to each other.

    Subclasses set up `local`, their FIM-l. Our readings of the report: K counts the unseen window, so K - 1 windows are
    encoded; the statistics of a window are those of the standardised series, with time in windows before the forecast
    origin.
    """

    config: FIMConfig | ReportFIMConfig
    compute: Compute = Compute()

    def setup(self) -> None:
        c = self.config
        self.scale_embedding = Embedding(c.local.width, self.compute.dtype)  # sigma_0
        self.window_encoder = TransformerEncoder(c.layers, c.heads, c.feedforward, self.compute)  # psi_1

    def encode_windows(self, windows: Windows, packing: Packing | None = None) -> EncodedWindows:
        """Encodes the past of B series.

        Args:
            windows: the seen windows of B series.
            packing: of the observed points [B * W, T], so that empty slots cost nothing.
        """
        chex.assert_equal_shape([windows.values, windows.times, windows.mask])
        chex.assert_rank(windows.values, 3)
        windows = windows.with_zeros_in_gaps()
        value_map, time_map, season_phase = windows.value_map(), windows.time_map(), windows.season_phase()
        values, times = value_map.normalise(windows.values), time_map.normalise(windows.times)
        h, points = self.embed_windows(values, times, windows.mask, season_phase, packing)
        statistics = window_statistics(values, times, windows.mask)
        tokens = jnp.concatenate([h, self.scale_embedding(statistics)], axis=-1)
        seen = jnp.any(windows.mask, axis=-1)
        return EncodedWindows(
            points=points,
            packing=packing,
            windows=self.window_encoder(tokens, seen),
            seen=seen,
            values=zero_unobserved(values, windows.mask),
            times=zero_unobserved(times, windows.mask),
            mask=windows.mask,
            value_map=value_map,
            time_map=time_map,
            season_phase=season_phase,
            floor=None if windows.floor is None else value_map.normalise(windows.floor),
        )

    def embed_windows(
        self,
        values: jax.Array,
        times: jax.Array,
        mask: jax.Array,
        season_phase: SeasonPhase,
        packing: Packing | None = None,
    ) -> tuple[jax.Array, jax.Array]:
        """FIM-l's summary h_j of each window, and its encoded points.

        Args:
            values, times, mask: [B, W, T], values standardised, times in windows since the forecast origin.
            season_phase: [B], in the same unit of time.
            packing: of the observed points [B * W, T].

        Returns:
            [B, W, D], and [B * W, T, 2D] or packed rows.
        """
        batch, count, slots = values.shape
        values, times, mask = (x.reshape(batch * count, slots) for x in (values, times, mask))
        times = zero_unobserved(times, mask)
        value_map = fit_range(values, mask)
        value_map = value_map.replace(scale=jnp.maximum(value_map.scale, MIN_WINDOW_RANGE))
        season_features = self.local.season_features(season_phase.repeat(count), times)
        unit_square = value_map.normalise(values), fit_range(times, mask).normalise(times)
        points = self.local.encode_points(*unit_square, mask, season_features, packing)
        h = self.local.summarise(points, mask, packing)
        return h.reshape(batch, count, -1), points
