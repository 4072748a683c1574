"""FIM-l, the neural interpolation operator, with a query decoder: the interpolator inside the shipped FIM."""

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from fimjax.config import FIMLocalConfig
from fimjax.models.encoders import PointEncoder
from fimjax.nn.classical.local_polynomials import leave_one_out_errors, local_polynomials
from fimjax.nn.packing import Packing, pack, spread, unpack
from fimjax.nn.query_decoder import QueryDecoder
from fimjax.nn.scaling import Affine, fit_range, zero_unobserved
from fimjax.nn.season import SeasonPhase, fourier_features


class UnitSquarePoints(NamedTuple):
    """The points of B windows, scaled to the unit square. Unobserved slots hold zeros."""

    values: jax.Array  # [B, T]
    times: jax.Array  # [B, T]
    mask: jax.Array  # [B, T]


def to_unit_square(
    values: jax.Array, times: jax.Array, mask: jax.Array, value_map: Affine, time_map: Affine
) -> UnitSquarePoints:
    """Points [B, T], scaled by the maps of their windows."""
    scaled_values = zero_unobserved(value_map.normalise(values), mask)
    return UnitSquarePoints(scaled_values, zero_unobserved(time_map.normalise(times), mask), mask)


class FIMLocal(PointEncoder):
    """From noisy, irregular observations of a function to the function at any time.

    Query times attend to the encoded points. The output corrects a mixture of local polynomials through the points, in
    units of their leave-one-out error.
    """

    config: FIMLocalConfig

    def setup(self) -> None:
        super().setup()
        c = self.config
        self.query_decoder = QueryDecoder(
            2 * c.width, c.query_layers, c.heads, c.feedforward, c.quantile_levels, compute=self.compute
        )

    def decode_points(
        self,
        encoded_points: jax.Array,
        points: UnitSquarePoints,
        query_times: jax.Array,
        season_features: jax.Array | None,
        packed_points: Packing | None = None,
        packed_times: Packing | None = None,
    ) -> jax.Array:
        """The function through encoded points, at any times.

        Args:
            encoded_points: [B, T, 2D], or packed rows.
            points: the points that they encode.
            query_times: [B, Q] in the unit square; season_features: [B, Q, F].
            packed_times: the query times that matter.

        Returns:
            [B, Q, L], float32, in the unit square; zeros at times that do not matter.
        """
        if self.is_initializing():
            self.summarise(encoded_points, points.mask)  # FIM uses the summary, so its parameters must exist
        baselines = pack(local_polynomials(query_times, *points), packed_times)
        errors = leave_one_out_errors(*points)
        log_errors = jnp.broadcast_to(spread(jnp.log(errors), packed_times), baselines.shape)
        times = self.time_features(query_times, season_features, packed_times)
        out = self.query_decoder(
            jnp.concatenate([times, baselines, log_errors], axis=-1),
            encoded_points,
            points.mask,
            error_scale=jnp.broadcast_to(spread(jnp.min(errors, axis=-1), packed_times), baselines.shape[:-1]),
            baselines=baselines,
            packed_queries=packed_times,
            packed_tokens=packed_points,
        )
        return unpack(out, packed_times)

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
        """Interpolates one window of each series.

        Args:
            values, times, mask: [B, T]; query_times: [B, Q].
            season_phase: [B], None for no season.
            packed_points, packed_times: which slots and which query times matter; None for all.

        Returns:
            [B, Q, L] in the units of the values.
        """
        chex.assert_equal_shape([values, times, mask])
        chex.assert_rank([values, query_times], 2)
        values, times = zero_unobserved(values, mask), zero_unobserved(times, mask)
        value_map, time_map = fit_range(values, mask), fit_range(times, mask)
        points = to_unit_square(values, times, mask, value_map, time_map)
        encoded_points = self.encode_points(*points, self.season_features(season_phase, times), packed_points)
        season_features = self.season_features(season_phase, query_times)
        out = self.decode_points(
            encoded_points, points, time_map.normalise(query_times), season_features, packed_points, packed_times
        )
        return value_map.invert(out)

    def time_features(self, times: jax.Array, season_features: jax.Array | None, packing: Packing | None) -> jax.Array:
        """Time in the unit square, its Fourier features and those of the season: [B, T, F] or packed rows."""
        assert season_features is not None, "this FIM-l uses the season"
        times = pack(times, packing)
        waves = fourier_features(0.5 * times, self.config.time_harmonics)
        return jnp.concatenate([times[..., None], waves, pack(season_features, packing)], axis=-1)

    def season_features(self, season_phase: SeasonPhase | None, times: jax.Array) -> jax.Array:
        """Features of the season at times [B, T]; zeros without a season."""
        harmonics = self.config.season_harmonics
        if season_phase is None:
            return jnp.zeros((*times.shape, 2 * harmonics + 1))
        return season_phase.features(times, harmonics)
