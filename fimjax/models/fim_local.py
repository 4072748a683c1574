"""FIM-l, the neural interpolation operator (lab report, section 6.1 and table 2)."""

from typing import NamedTuple

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.config import FIMLocalConfig
from fimjax.nn.classical.local_polynomials import local_polynomials, typical_misses
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.mlp import DenseBlock, Projection, TrunkMLP
from fimjax.nn.packing import Packing, pack, spread, unpack
from fimjax.nn.pooling import SummaryAttention
from fimjax.nn.quantile_head import apply_quantile_head, head_size
from fimjax.nn.query_decoder import QueryDecoder
from fimjax.nn.scaling import Affine, fit_range, zero_unobserved
from fimjax.nn.season import SeasonPhase, waves
from fimjax.nn.transformer import TransformerEncoder


class Known(NamedTuple):
    """The points of B windows, in the unit square."""

    values: jax.Array  # [B, T], zeros where nothing was observed, like the times
    times: jax.Array  # [B, T]
    mask: jax.Array  # [B, T]


def to_unit_square(values: jax.Array, times: jax.Array, mask: jax.Array, value_map: Affine, time_map: Affine) -> Known:
    """Points [B, T] by the maps of their windows."""
    return Known(
        zero_unobserved(value_map.normalise(values), mask), zero_unobserved(time_map.normalise(times), mask), mask
    )


class FIMLocal(nn.Module):
    """From noisy observations of a function to the function at any time.

    `encode` and `decode` work in the unit square: values and times of a window run from 0 to 1 over its observed
    points. Calling the module does the whole way from raw observations to raw values.

    Readings taken where the report is silent or at odds with itself: the encoder's internals are those of
    `TransformerEncoder`; the branch MLP comes after the encoder and before the summary, so that the learnable query
    has width d; the projection's widths are those of `Projection`; one affine map for each window, fitted on observed
    points, serves inputs, targets, query times and the inverse.
    """

    config: FIMLocalConfig
    compute: Compute = Compute()

    def setup(self):
        c, dtype = self.config, self.compute.dtype
        self.value_embedding = Embedding(c.width, dtype)  # phi_0
        self.time_embedding = Embedding(c.width, dtype)  # phi_1
        self.branch_encoder = TransformerEncoder(  # psi_0
            c.layers, c.heads, c.feedforward, c.norm_first, self.compute
        )
        self.branch_mlp = DenseBlock(c.width, dtype)  # phi_3
        self.summary = SummaryAttention(1, self.compute)  # lambda_0
        if c.query_layers:
            self.query_decoder = QueryDecoder(
                2 * c.width, c.query_layers, c.heads, c.feedforward, c.quantile_levels, compute=self.compute
            )
            return
        self.trunk_embedding = Embedding(c.width, dtype)  # phi_4
        self.trunk_mlp = TrunkMLP(c.width, c.trunk_layers, dtype)  # phi_5
        self.projection = Projection(  # phi_7
            tuple(n * c.width for n in c.projection), head_size(c.quantile_levels), dtype
        )

    def encode_points(
        self,
        values: jax.Array,
        times: jax.Array,
        mask: jax.Array,
        phases: jax.Array | None = None,
        packing: Packing | None = None,
    ) -> jax.Array:
        """Each point in the light of the others.

        Args:
            values, times: [B, T] in the unit square; mask: [B, T].
            phases: [B, T, F] of the season, if the config asks for them.
            packing: of the observed points, so that no work is done on empty slots.

        Returns:
            [B, T, 2D], or rows of it; what stands where nothing was observed means nothing.
        """
        values, times = zero_unobserved(values, mask), zero_unobserved(times, mask)
        values = pack(values[..., None], packing)
        embedded = [self.value_embedding(values), self.time_embedding(self._time_features(times, phases, packing))]
        return self.branch_encoder(jnp.concatenate(embedded, axis=-1), mask, packing)

    def summarise(self, points: jax.Array, mask: jax.Array, packing: Packing | None = None) -> jax.Array:
        """The window as one vector, h, finite and without meaning if it is empty.

        Args:
            points: [B, T, 2D], or rows of them; mask: [B, T].

        Returns:
            [B, D]
        """
        return self.summary(self.branch_mlp(points), mask, packing)

    def encode(self, values: jax.Array, times: jax.Array, mask: jax.Array, phases: jax.Array | None = None):
        """From a window to its h [B, D]; arguments as of `encode_points`."""
        return self.summarise(self.encode_points(values, times, mask, phases), mask)

    def decode(
        self, h: jax.Array, times: jax.Array, phases: jax.Array | None = None, packing: Packing | None = None
    ) -> jax.Array:
        """The function that h stands for, at any times.

        Args:
            h: [B, D]; times: [B, Q] in the unit square of the window; phases: [B, Q, F].
            packing: of the times that matter, so that no work is done for the others.

        Returns:
            [B, Q, L], float32: a value (L = 1) or rising quantiles; zeros at times that do not matter.
        """
        trunk = self.trunk_mlp(self.trunk_embedding(self._time_features(times, phases, packing)))
        return unpack(apply_quantile_head(self.projection(h, trunk, packing), self.config.quantile_levels), packing)

    def decode_points(
        self,
        points: jax.Array,
        known: Known,
        times: jax.Array,
        phases: jax.Array | None = None,
        packed_points: Packing | None = None,
        packed_times: Packing | None = None,
    ) -> jax.Array:
        """The function through encoded points, at any times.

        With `query_layers` times attend to points; else the points are summed up in h, and decoded from it.

        Args:
            points: [B, T, 2D], or rows of them, which encode what is known.
            times: [B, Q] in the unit square of the window; phases: [B, Q, F].
            packed_times: those that matter.

        Returns:
            [B, Q, L], float32: a value (L = 1) or rising quantiles; zeros at times that do not matter.
        """
        if not self.config.query_layers:
            return self.decode(self.summarise(points, known.mask, packed_points), times, phases, packed_times)
        if self.is_initializing():
            self.summarise(points, known.mask)  # no part of this answer, but FIM reads windows by it
        features, start = self._time_features(times, phases, packed_times), {}
        if self.config.polynomials:
            guesses, misses = pack(local_polynomials(times, *known), packed_times), typical_misses(*known)
            known_misses = jnp.broadcast_to(spread(jnp.log(misses), packed_times), guesses.shape)
            features = jnp.concatenate([features, guesses, known_misses], axis=-1)
            unit = jnp.broadcast_to(spread(jnp.min(misses, axis=-1), packed_times), guesses.shape[:-1])
            start = {"guesses": guesses, "unit": unit}
        out = self.query_decoder(
            features, points, known.mask, **start, packed_queries=packed_times, packed_tokens=packed_points
        )
        return unpack(out, packed_times)

    def __call__(
        self,
        values: jax.Array,
        times: jax.Array,
        mask: jax.Array,
        query_times: jax.Array,
        clock: SeasonPhase | None = None,
        packed_points: Packing | None = None,
        packed_times: Packing | None = None,
    ) -> jax.Array:
        """Interpolates one window of each series.

        Args:
            values, times, mask: [B, T]; query_times: [B, Q]; clock: where the season stands, None for no season.
            packed_points, packed_times: which slots and which query times matter; None for all.

        Returns:
            [B, Q, L] in the units of the values.
        """
        chex.assert_equal_shape([values, times, mask])
        chex.assert_rank([values, query_times], 2)
        values, times = zero_unobserved(values, mask), zero_unobserved(times, mask)
        value_map, time_map = fit_range(values, mask), fit_range(times, mask)
        known = to_unit_square(values, times, mask, value_map, time_map)
        points = self.encode_points(*known, self.phases(clock, times), packed_points)
        asked = time_map.normalise(query_times), self.phases(clock, query_times)
        return value_map.invert(self.decode_points(points, known, *asked, packed_points, packed_times))

    def phases(self, clock: SeasonPhase | None, times: jax.Array) -> jax.Array | None:
        """The season's features at these times, as far as the config asks for them."""
        harmonics = self.config.season_harmonics
        if harmonics == 0:
            return None
        if clock is None:
            return jnp.zeros((*times.shape, 2 * harmonics + 1))
        return clock.phases(times, harmonics)

    def _time_features(self, times: jax.Array, phases: jax.Array | None, packing: Packing | None) -> jax.Array:
        """Time in the unit square, its waves and the season's phases, as far as the config asks for them."""
        times, phases = pack(times, packing), None if phases is None else pack(phases, packing)
        features = [times[..., None]]
        if self.config.time_waves:
            features.append(waves(0.5 * times, self.config.time_waves))
        return jnp.concatenate(features + ([] if phases is None else [phases]), axis=-1)
